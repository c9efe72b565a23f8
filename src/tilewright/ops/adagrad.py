from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._optimizer import DOMAIN, regularised, updated
from tilewright.ops.div import Div
from tilewright.ops.sqrt import Sqrt
from tilewright.records import dataclass


@dataclass(frozen=True)
class Adagrad(Op):
    """A step of gradient descent with rates that shrink with the gradients' squares so far."""

    operands: ClassVar[tuple[str, ...]] = ("R", "T", "X*")
    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        decay, epsilon = float(node.attribute("decay_factor", 0.0)), float(node.attribute("epsilon", 0.0))

        def step(rate: str, count: str, x: str, gradient: str, before: str) -> tuple[str, str]:
            slope = regularised(make, x, gradient)
            shrinking = make.add(make.scaled(make.cast(count, "float32"), decay), make.like(1.0, rate))
            squares = make.add(before, make.mul(slope, slope))
            root = make.add(make(Sqrt(), squares), make.like(epsilon, x))
            way = make(Div(), make.mul(slope, make(Div(), rate, shrinking)), root)
            return make.sub(x, way), squares

        return updated(make, 3, step)
