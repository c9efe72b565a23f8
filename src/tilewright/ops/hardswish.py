from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class HardSwish(FloatUnary):
    """x * clamp(x / 6 + 1 / 2, 0, 1)."""

    def slope(self, x: Value, y: Value) -> Value:
        return (x < -3.0).where(0.0, (x > 3.0).where(1.0, x / 3.0 + 0.5))

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("one_over_six", "six", "three")  # left on float nodes by exporters of the integer dialect
        return super().from_onnx(node)

    def function(self, x: Array) -> Array:
        return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)
