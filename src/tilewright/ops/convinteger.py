from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._zero_points import without_zero
from tilewright.ops.conv import Conv
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvInteger(Op):
    """Conv of (X - x_zero) and (W - w_zero) in int32: a Conv. W's zero point may be one per filter."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "x_zero_point?", "w_zero_point?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        conv, _ = Conv.from_onnx(node)
        x, x_zero = without_zero(node, 0, 2, None, emit)
        w, w_zero = without_zero(node, 1, 3, 0, emit)
        make = Compose(node, emit)
        return make.give(replace(conv, x_zero=x_zero, w_zero=w_zero).applied(make, x, w))
