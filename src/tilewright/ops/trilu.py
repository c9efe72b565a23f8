from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType


@dataclass(frozen=True)
class Trilu(Op):
    """The upper (or lower) triangle of matrices: zero where column - row < k (or > k)."""

    elementwise: ClassVar[bool] = True
    upper: bool = True
    k: int = 0

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        return {"X": loops, "Y": loops}

    def at(self, shapes: Shapes, box: Box) -> Op:
        rank = len(shapes["X"])
        return replace(self, k=self.k + box[f"d{rank - 2}"][0] - box[f"d{rank - 1}"][0])

    def check(self, types: Mapping[str, TensorType]) -> None:
        if len(types["X"].shape) < 2:
            raise Refusal(f"shape {types['X'].shape} is no matrix")

    def numpy(self, X: Array) -> Array:
        return np.triu(X, self.k) if self.upper else np.tril(X, self.k)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        k = node.scalar_at(1, "the diagonal") if node.has(1) else 0
        rows, columns = node.type(0).shape[-2:] if node.rank() > 1 else (0, 0)
        return cls(bool(node.attribute("upper", 1)), max(min(int(k or 0), columns), -rows)), node.inputs[:1]
