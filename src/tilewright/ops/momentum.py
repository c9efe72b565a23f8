from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._optimizer import DOMAIN, if_counted, regularised, updated
from tilewright.records import dataclass


@dataclass(frozen=True)
class Momentum(Op):
    """A step of gradient descent with momentum, Nesterov's too."""

    operands: ClassVar[tuple[str, ...]] = ("R", "T", "X*")
    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, mode = Compose(node, emit), node.attribute("mode", "standard")
        alpha, beta = float(node.attribute("alpha")), float(node.attribute("beta"))
        if mode not in ("standard", "nesterov"):
            raise Refusal(f"mode {mode} is unknown", "standard and nesterov are supported")

        def step(rate: str, count: str, x: str, gradient: str, before: str) -> tuple[str, str]:
            slope = regularised(make, x, gradient)
            of_slope = if_counted(make, count, make.like(beta, x), make.like(1.0, x))
            speed = make.add(make.scaled(before, alpha), make.mul(slope, of_slope))
            way = make.add(slope, make.scaled(speed, alpha)) if mode == "nesterov" else speed
            return make.sub(x, make.mul(way, rate)), speed

        return updated(make, 3, step)
