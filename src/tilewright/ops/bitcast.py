from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, Array, TensorType
from tilewright.ops._elementwise import Unary
from tilewright.ops.cast import type_named
from tilewright.records import dataclass


@dataclass(frozen=True)
class BitCast(Unary):
    """The same bytes under another element type of the same size."""

    accepts: ClassVar[frozenset[str] | None] = None
    names_type: ClassVar[bool] = True
    to: str = "float32"

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if self.to == "bool" or BYTES[types["X"].dtype] != BYTES[self.to]:
            raise Refusal(
                f"the bytes of {types['X'].dtype} cannot be taken as {self.to}", "use a type of the same size"
            )

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.to,)

    def numpy(self, X: Array) -> Array:
        return np.asarray(X).view(self.to)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        return cls(type_named(node.attribute("to"))), node.inputs
