from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.element_types import element_type
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ir.types import STORED, Array, TensorType, element, is_integer, limits
from tilewright.ops._elementwise import Unary
from tilewright.records import dataclass

ONNX_TYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 12: "uint32",
    13: "uint64", 10: "float32", 11: "float32", 16: "float32",
}  # fmt: skip
"""ONNX numbers of the element types that we have. Other floats (float16, float64, bfloat16) are taken as float32."""


@dataclass(frozen=True)
class Cast(Unary):
    """Another element type; floats truncate toward zero and saturate (ONNX leaves that open), integers wrap."""

    accepts: ClassVar[frozenset[str] | None] = None
    names_type: ClassVar[bool] = True
    to: str = "float32"

    def check(self, types: Mapping[str, TensorType]) -> None:
        found = {types["X"].dtype, self.to}
        if found & set(STORED) and "float32" not in found:
            raise Refusal(f"a cast of {types['X'].dtype} to {self.to} is not supported", "cast to float32 first")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.to,)

    def numpy(self, X: Array) -> Array:
        if self.to == "bool":
            return X != 0
        if X.dtype == np.float32 and is_integer(self.to):
            return saturated(X.astype(np.float64), self.to)
        return X.astype(element(self.to))

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient.cast(at["X"].type.dtype)}

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("saturate", "round_mode")
        return cls(type_named(node.attribute("to"))), node.inputs


def type_named(code: Any) -> str:
    """The element type of an ONNX number, or a refusal."""
    if not isinstance(code, int) or code not in ONNX_TYPES:
        raise Refusal(f"cast to {element_type(code)} is not supported", f"supported: {', '.join(ONNX_TYPES.values())}")
    return ONNX_TYPES[code]


def saturated(values: Array, dtype: str) -> Array:
    """Doubles as integers: truncated toward zero, kept inside the type, NaN as 0."""
    low, high = limits(dtype)
    whole = np.trunc(np.where(np.isnan(values), 0.0, values))
    # As a double, the largest 64-bit integer is already one too large.
    above, below = whole >= float(high), whole <= float(low)
    inside = np.where(above | below, 0.0, whole).astype(dtype)
    return np.where(above, np.asarray(high, dtype), np.where(below, np.asarray(low, dtype), inside))
