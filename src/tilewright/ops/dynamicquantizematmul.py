from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._zero_points import without_zero
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.matmul import MatMul
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.round import Round
from tilewright.ops.sub import Sub
from tilewright.records import dataclass

STEPS = 255.0
"""Of the range that A is quantised in."""


@dataclass(frozen=True)
class DynamicQuantizeMatMul(Op):
    """A, quantised to 8 bits by its own range, times B, which is quantised already, as floats again."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "b_scale", "b_zero?", "bias?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        b, b_zero = without_zero(node, 1, 3, -1, emit)
        centred, scale = _quantised(make, node.inputs[0])
        y = make.cast(make(MatMul(b_zero=b_zero), centred, b), "float32")
        y = make.mul(y, make.mul(scale, node.inputs[2]))
        return make.give(make.add(y, node.inputs[4]) if node.has(4) else y)


def _quantised(make: Compose, x: str) -> tuple[str, str]:
    """Whole numbers without their zero point, and their scale: as DynamicQuantizeLinear is defined."""
    axes, nothing = tuple(range(len(make.shape(x)))), make.like(0.0, x)
    low = make(Min(), make(ReduceMin(axes, False), x), nothing)
    high = make(Max(), make(ReduceMax(axes, False), x), nothing)
    scale = make(Div(), make.sub(high, low), make.like(STEPS, x))
    zero = make(Clip(0.0, STEPS), make(Round(), make(Div(), make.sub(nothing, low), scale)))
    steps = make(Clip(0.0, STEPS), make.add(make(Round(), make(Div(), x, scale)), zero))
    return make(Sub(wide=True), make.cast(steps, "uint8"), make.cast(zero, "uint8")), scale
