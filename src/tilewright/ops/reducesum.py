from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.exchange import exchanged
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.types import Array, Shapes
from tilewright.ops._reduction import Sum
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReduceSum(Sum):
    """The sum; of any integers in int32 if `wide`."""

    wide: bool = False

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int32",) if self.wide else super().result_dtypes(dtypes)

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return total.astype("int32" if self.wide else X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": exchanged(self, at, "X")}

    @classmethod
    def dialect(cls, node: OnnxNode) -> dict[str, Any]:
        return {"wide": node.integers}
