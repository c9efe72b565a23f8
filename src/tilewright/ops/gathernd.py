from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._loops import MAX_RANK
from tilewright.ops.gather import check_indices, inside, with_narrow_indices
from tilewright.records import dataclass


@dataclass(frozen=True)
class GatherND(Op):
    """Parts of X chosen by tuples of indices; the first `batch_dims` axes are common to X and the indices."""

    operands: ClassVar[tuple[str, ...]] = ("X", "indices")
    batch_dims: int = 0

    def index(self, shapes: Shapes) -> Index:
        x, at = axis_loops(len(shapes["X"])), shapes["indices"]
        batch, depth = x[: self.batch_dims], at[-1]
        among = loops(" ".join(f"i{axis}" for axis in range(self.batch_dims, len(at) - 1)))
        chosen, kept = shapes["X"][self.batch_dims :][:depth], x[self.batch_dims + depth :]
        return {
            "X": (*batch, *map(whole, chosen), *kept),
            "indices": (*batch, *among, whole(depth)),
            "Y": (*batch, *among, *kept),
        }

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, indices, batch = types["X"].shape, types["indices"].shape, self.batch_dims
        if not indices or not 0 <= batch < min(len(x), len(indices)) or x[:batch] != indices[:batch]:
            raise Refusal(f"indices of shape {indices} into shape {x} with {batch} common axes")
        if not 1 <= indices[-1] <= min(len(x) - batch, MAX_RANK):
            raise Refusal(f"tuples of {indices[-1]} indices into shape {x} after {batch} common axes")
        check_indices(types["indices"], math.prod(x[batch : batch + indices[-1]]))

    def numpy(self, X: Array, indices: Array) -> Array:
        batch, depth = self.batch_dims, indices.shape[-1]
        chosen, kept = X.shape[batch : batch + depth], X.shape[batch + depth :]
        groups = math.prod(X.shape[:batch])
        table = X.reshape(groups, *chosen, *kept)
        tuples = indices.reshape(groups, math.prod(indices.shape[batch:-1]), depth)
        where = tuple(inside(tuples[..., i], size) for i, size in enumerate(chosen))
        found: Array = table[(np.arange(groups)[:, None], *where)]
        return found.reshape((*indices.shape[:-1], *kept))

    def gradients(self, at: Adjoint) -> Gradients:
        indices, batch = at["indices"], at["X"].shape[: self.batch_dims]
        if batch:
            places = np.moveaxis(np.indices(indices.shape[:-1])[: self.batch_dims], 0, -1)
            indices = indices.constant(places).joined(-1, indices)
        zeros = at["X"].zeros(at["X"].shape)
        return {"X": zeros.apply("ScatterND", indices, at.gradient, reduction="add")}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return super().expand(with_narrow_indices(node, emit), emit)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        return cls(node.attribute("batch_dims", 0)), node.inputs
