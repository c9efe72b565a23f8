from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Box, axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._compose import Compose
from tilewright.ops.greaterorequal import GreaterOrEqual
from tilewright.ops.lessorequal import LessOrEqual
from tilewright.ops.where import Where
from tilewright.records import dataclass


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

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient.apply("Trilu", k=self.k, upper=self.upper)}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if not node.has(1) or node.constants[1] is not None or node.rank() < 2:
            return super().expand(node, emit)
        # A diagonal that is known at run time: each element's distance from the main one is compared with it.
        make, (rows, columns) = Compose(node, emit), node.type(0).shape[-2:]
        distance = np.arange(columns) - np.arange(rows).reshape(-1, 1)
        k = make.reshape(node.inputs[1], ())
        compared = GreaterOrEqual() if node.attribute("upper", 1) else LessOrEqual()
        keeps = make(compared, make.constant(distance.astype(np.int64), "distance"), make.cast(k, "int64"))
        return emit(Where(), [keeps, node.inputs[0], make.like(0, node.inputs[0])], node.outputs)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        k = node.scalar_at(1, "the diagonal") if node.has(1) else 0
        rows, columns = node.type(0).shape[-2:] if node.rank() > 1 else (0, 0)
        return cls(bool(node.attribute("upper", 1)), max(min(int(k or 0), columns), -rows)), node.inputs[:1]
