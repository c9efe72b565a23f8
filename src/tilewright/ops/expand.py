from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Box, axis_loops
from tilewright.ir.exchange import exchanged
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._elementwise import broadcast, broadcast_index
from tilewright.ops._loops import broadcast_strides
from tilewright.ops._movement import StridedCopy
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Expand(StridedCopy):
    """X broadcast to `shape`."""

    shape: Shape = ()

    def index(self, shapes: Shapes) -> Index:
        return {"X": broadcast_index(shapes["X"], self.shape), "Y": axis_loops(len(self.shape))}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(self.shape)}

    def at(self, shapes: Shapes, box: Box) -> Op:
        return Expand(tuple(box[f"d{axis}"][1] - box[f"d{axis}"][0] for axis in range(len(self.shape))))

    def check(self, types: Mapping[str, TensorType]) -> None:
        if broadcast([types["X"].shape, self.shape]) != self.shape:
            raise Refusal(f"shape {types['X'].shape} does not expand to {self.shape}")

    def numpy(self, X: Array) -> Array:
        return np.broadcast_to(X, self.shape).copy()

    def walk(self, shape: Shape) -> tuple[int, Sequence[int]]:
        return 0, broadcast_strides(shape, self.shape)

    def simplest(self, kind: TensorType) -> Op:
        """What gains no element is a Reshape."""
        return Reshape(self.shape) if TensorType(kind.dtype, self.shape).elements == kind.elements else self

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": exchanged(self, at, "X")}

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        wanted = node.integers_given(1, "shape")
        if wanted is None or min(wanted, default=0) < 0:
            raise Refusal(f"the shape {wanted} to expand to is missing or negative")
        op = cls(broadcast([node.type(0).shape, wanted]))
        return op.simplest(node.type(0)), node.inputs[:1]
