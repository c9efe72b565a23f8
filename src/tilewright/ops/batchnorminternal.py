from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._statistics import of_channels
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.div import Div
from tilewright.ops.sqrt import Sqrt
from tilewright.records import dataclass


@dataclass(frozen=True)
class BatchNormInternal(Op):
    """BatchNormalization while training: also gives the batch's mean and inverse deviation, for the gradient."""

    operands: ClassVar[tuple[str, ...]] = ("X", "scale", "B", "mean", "var")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("training_mode")
        make, x, epsilon = Compose(node, emit), node.inputs[0], float(node.attribute("epsilon", 1e-5))
        mean, variance = of_channels(make, x)
        deviation = make(Sqrt(), make.add(variance, make.like(epsilon, variance)))
        inverse = make(Div(), make.like(1.0, variance), deviation)
        factor = make.mul(node.inputs[1], inverse)
        shift = make.sub(node.inputs[2], make.mul(mean, factor))
        y = make(BatchNormalization(), x, factor, shift)
        kept = float(node.attribute("momentum", 0.9))
        running = [
            make.add(make.scaled(before, kept), make.scaled(now, 1 - kept)) if node.must_give(position) else ""
            for position, before, now in zip((1, 2), node.inputs[3:5], (mean, variance), strict=True)
        ]
        return make.give(y, *running, mean, inverse)
