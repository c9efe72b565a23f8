from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops
from tilewright.ir.exchange import exchanged
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._loops import row_major
from tilewright.ops._movement import StridedCopy
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Transpose(StridedCopy):
    """Axis i of the result is axis perm[i] of X."""

    perm: Shape = ()

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(self.perm))
        return {"X": tuple(loops[i] for i in np.argsort(self.perm)), "Y": loops}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if sorted(self.perm) != list(range(len(types["X"].shape))):
            raise Refusal(f"perm {self.perm} is no order of the axes of shape {types['X'].shape}")

    def numpy(self, X: Array) -> Array:
        return np.ascontiguousarray(X.transpose(self.perm)).reshape([X.shape[axis] for axis in self.perm])

    def walk(self, shape: Shape) -> tuple[int, Sequence[int]]:
        strides = row_major(shape)
        return 0, [strides[axis] for axis in self.perm]

    def simplest(self, shape: Shape) -> Op:
        """A transposition that only moves axes of size 1 moves no element: it is a Reshape."""
        moved = [axis for axis in self.perm if shape[axis] != 1]
        return Reshape(tuple(shape[axis] for axis in self.perm)) if moved == sorted(moved) else self

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": exchanged(self, at, "X")}

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        op = cls(node.attribute("perm", tuple(reversed(range(node.rank())))))
        op.check({"X": node.type(0)})
        return op.simplest(node.type(0).shape), node.inputs
