from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array, TensorType
from tilewright.ops._scatter import Scattering, check_linear, check_reduction
from tilewright.ops.gather import check_indices, inside, with_narrow_indices
from tilewright.records import dataclass


@dataclass(frozen=True)
class ScatterElements(Scattering):
    """X, but with updates[i, j, ...] at [i, j, ...] with the position along `axis` replaced by indices[i, j, ...]."""

    operands: ClassVar[tuple[str, ...]] = ("X", "indices", "updates")
    axis: int = 0

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, indices, updates = (types[name].shape for name in ("X", "indices", "updates"))
        check_reduction(self.reduction, types)
        if len(x) != len(indices) or indices != updates or not 0 <= self.axis < len(x):
            raise Refusal(f"indices of shape {indices}, updates of shape {updates} along axis {self.axis} of {x}")
        check_indices(types["indices"], x[self.axis])
        if any(wanted > size for axis, (wanted, size) in enumerate(zip(indices, x, strict=True)) if axis != self.axis):
            raise Refusal(f"indices of shape {indices} exceed shape {x}")

    def numpy(self, X: Array, indices: Array, updates: Array) -> Array:
        where: list[Array] = list(np.indices(indices.shape))
        where[self.axis] = inside(indices, X.shape[self.axis])
        return self.updated(X, tuple(where), updates)

    def gradients(self, at: Adjoint) -> Gradients:
        check_linear(self.reduction)
        by_updates = at.gradient.apply("GatherElements", at["indices"], axis=self.axis)
        if self.reduction == "add":
            return {"X": at.gradient, "updates": by_updates}
        zeros = at["updates"].zeros(at["updates"].shape)
        return {"X": at.gradient.apply("ScatterElements", at["indices"], zeros, axis=self.axis), "updates": by_updates}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return super().expand(with_narrow_indices(node, emit), emit)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        return cls(node.attribute("reduction", "none"), node.axis(node.attribute("axis", 0), node.rank())), node.inputs
