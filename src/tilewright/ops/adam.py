from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._optimizer import DOMAIN, if_counted, regularised, updated, weighted
from tilewright.ops.div import Div
from tilewright.ops.pow import Pow
from tilewright.ops.sqrt import Sqrt
from tilewright.records import dataclass


@dataclass(frozen=True)
class Adam(Op):
    """A step of gradient descent by averages of gradients and of their squares."""

    operands: ClassVar[tuple[str, ...]] = ("R", "T", "X*")
    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        alpha, beta = float(node.attribute("alpha", 0.9)), float(node.attribute("beta", 0.999))
        epsilon, after = float(node.attribute("epsilon", 0.0)), float(node.attribute("norm_coefficient_post", 0.0))

        def missing(base: float, count: str) -> str:
            """1 - base ** count."""
            times = make.cast(count, "float32")
            return make.sub(make.like(1.0, times), make(Pow(), make.like(base, times), times))

        def step(rate: str, count: str, x: str, gradient: str, mean: str, square: str) -> tuple[str, str, str]:
            slope = regularised(make, x, gradient)
            mean = weighted(make, mean, alpha, slope, 1 - alpha)
            square = weighted(make, square, beta, make.mul(slope, slope), 1 - beta)
            root = make.add(make(Sqrt(), square), make.like(epsilon, x))
            unbiased = make(Div(), make.mul(rate, make(Sqrt(), missing(beta, count))), missing(alpha, count))
            way = make(Div(), make.mul(mean, if_counted(make, count, unbiased, rate)), root)
            return make.scaled(make.sub(x, way), 1 - after), mean, square

        return updated(make, 4, step)
