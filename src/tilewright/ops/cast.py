from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.onnx_node import OnnxNode
from tilewright.op import Op
from tilewright.ops._elementwise import Unary
from tilewright.types import Array, is_integer, limits

ONNX_TYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 12: "uint32",
    13: "uint64",
}  # fmt: skip
"""ONNX numbers of the element types that we have."""


@dataclass(frozen=True)
class Cast(Unary):
    """Another element type; floats truncate toward zero and saturate (ONNX leaves that open), integers wrap."""

    accepts: ClassVar[frozenset[str] | None] = None
    to: str = "float32"

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.to,)

    def numpy(self, X: Array) -> Array:
        if self.to == "bool":
            return X != 0
        if X.dtype == np.float32 and is_integer(self.to):
            return _saturated(X, self.to)
        return X.astype(self.to)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("saturate", "round_mode")
        code = node.attribute("to")
        if code not in ONNX_TYPES:
            raise Refusal(f"cast to ONNX element type number {code}", f"supported: {', '.join(ONNX_TYPES.values())}")
        return cls(ONNX_TYPES[code]), node.inputs


def _saturated(X: Array, dtype: str) -> Array:
    low, high = limits(dtype)
    whole = np.trunc(np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf).astype(np.float64))
    inside = np.where((whole >= low) & (whole < float(high)), whole, 0.0).astype(dtype)
    edge = np.where(whole <= low, np.asarray(low, dtype), np.asarray(high, dtype))
    return np.where((whole >= low) & (whole < float(high)), inside, edge).astype(dtype)
