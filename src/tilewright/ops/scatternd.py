from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array, TensorType
from tilewright.ops._loops import MAX_RANK
from tilewright.ops._scatter import Scattering, check_linear, check_reduction
from tilewright.ops.gather import check_indices, inside, with_narrow_indices
from tilewright.records import dataclass


@dataclass(frozen=True)
class ScatterND(Scattering):
    """X, but with slices replaced by (or joined with) updates; tuples of indices say which."""

    operands: ClassVar[tuple[str, ...]] = ("X", "indices", "updates")

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, indices, updates = (types[name].shape for name in ("X", "indices", "updates"))
        check_reduction(self.reduction, types)
        if not indices or not 1 <= indices[-1] <= min(len(x), MAX_RANK):
            raise Refusal(f"indices of shape {indices} into shape {x}")
        if updates != (*indices[:-1], *x[indices[-1] :]):
            raise Refusal(f"updates of shape {updates} for indices of shape {indices} into shape {x}")
        check_indices(types["indices"], math.prod(x[: indices[-1]]))

    def numpy(self, X: Array, indices: Array, updates: Array) -> Array:
        where = tuple(inside(indices[..., i], X.shape[i]) for i in range(indices.shape[-1]))
        return self.updated(X, where, updates)

    def gradients(self, at: Adjoint) -> Gradients:
        check_linear(self.reduction)
        by_updates = at.gradient.apply("GatherND", at["indices"])
        if self.reduction == "add":
            return {"X": at.gradient, "updates": by_updates}
        zeros = at["updates"].zeros(at["updates"].shape)
        return {"X": at.gradient.apply("ScatterND", at["indices"], zeros), "updates": by_updates}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return super().expand(with_narrow_indices(node, emit), emit)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        return cls(node.attribute("reduction", "none")), node.inputs
