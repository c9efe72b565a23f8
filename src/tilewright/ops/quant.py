from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops._dialect import narrowest_dtype, number, whole_number
from tilewright.ops._elementwise import Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Quant(Unary):
    """clamp(round(x / scale) + zero_point, low, high); halves round away from zero, what is not a number gives low."""

    scale: float = 1.0
    zero_point: int = 0
    low: int = -128
    high: int = 127

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (narrowest_dtype(self.low, self.high),)

    def numpy(self, X: Array) -> Array:
        scaled = (X / np.float32(self.scale)).astype(np.float64)
        value = np.sign(scaled) * np.floor(np.abs(scaled) + 0.5) + self.zero_point
        return np.where(value > self.low, np.minimum(value, self.high), self.low).astype(self.result_dtypes({})[0])

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("min_val", "max_val")
        bits, signed = whole_number(node, "bit_width", 8, 1, 31), bool(number(node, "signed", 1))
        low = -(2 ** (bits - 1)) if signed else 0
        zero_point = whole_number(node, "zero_point", 0, -(2**24), 2**24)
        return cls(scale_of(node), zero_point, low, low + 2**bits - 1), node.inputs[:1]


def scale_of(node: OnnxNode) -> float:
    scale = float(np.float32(number(node, "scale")))
    if not scale > 0:
        raise Refusal(f"scale is {scale}; it must be positive")
    return scale
