from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops.gather import check_indices, inside, with_narrow_indices
from tilewright.records import dataclass


@dataclass(frozen=True)
class GatherElements(Op):
    """Y[i, j, ...] = X[i, j, ...] with the position along `axis` replaced by indices[i, j, ...]."""

    operands: ClassVar[tuple[str, ...]] = ("X", "indices")
    axis: int = 0

    def index(self, shapes: Shapes) -> Index:
        at = axis_loops(len(shapes["indices"]))
        along = whole(shapes["X"][self.axis])
        return {"X": (*at[: self.axis], along, *at[self.axis + 1 :]), "indices": at, "Y": at}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["indices"])}

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, indices = types["X"].shape, types["indices"].shape
        if len(x) != len(indices) or not 0 <= self.axis < len(x):
            raise Refusal(f"indices of shape {indices} along axis {self.axis} of shape {x}")
        check_indices(types["indices"], x[self.axis])
        if any(wanted > size for axis, (wanted, size) in enumerate(zip(indices, x, strict=True)) if axis != self.axis):
            raise Refusal(f"indices of shape {indices} exceed shape {x}")

    def numpy(self, X: Array, indices: Array) -> Array:
        shape = list(indices.shape)
        shape[self.axis] = X.shape[self.axis]
        part = X[tuple(map(slice, shape))]
        return np.take_along_axis(part, inside(indices, X.shape[self.axis]), self.axis)

    def gradients(self, at: Adjoint) -> Gradients:
        zeros = at["X"].zeros(at["X"].shape)
        return {"X": zeros.apply("ScatterElements", at["indices"], at.gradient, axis=self.axis, reduction="add")}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return super().expand(with_narrow_indices(node, emit), emit)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        return cls(node.axis(node.attribute("axis", 0), node.rank())), node.inputs
