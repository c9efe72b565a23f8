from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType, limits
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.records import dataclass


@dataclass(frozen=True)
class Gather(Op):
    """Slices of X along `axis`, chosen by indices.

    Negative indices count from the end. Those outside, which ONNX forbids, are taken as the nearest inside.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "indices")
    axis: int = 0

    def index(self, shapes: Shapes) -> Index:
        x, rank = axis_loops(len(shapes["X"])), len(shapes["indices"])
        at = loops(" ".join(f"i{axis}" for axis in range(rank)))
        before, after = x[: self.axis], x[self.axis + 1 :]
        along = whole(shapes["X"][self.axis])
        return {"X": (*before, along, *after), "indices": at, "Y": (*before, *at, *after)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if not 0 <= self.axis < len(shape):
            raise Refusal(f"axis {self.axis} is outside a tensor of rank {len(shape)}")
        check_indices(types["indices"], shape[self.axis])

    def numpy(self, X: Array, indices: Array) -> Array:
        return np.take(X, inside(indices, X.shape[self.axis]), self.axis)

    def gradients(self, at: Adjoint) -> Gradients:
        x, rank = at["X"], at["indices"].rank
        indexed = list(range(self.axis, self.axis + rank))
        others = [axis for axis in range(at.gradient.rank) if axis not in indexed]
        rows = at.gradient.transpose([*indexed, *others])
        kept = [size for axis, size in enumerate(x.shape) if axis != self.axis]
        table = x.zeros((x.shape[self.axis], *kept))
        tuples = at["indices"].reshape((*at["indices"].shape, 1))
        found = table.apply("ScatterND", tuples, rows, reduction="add")
        return {"X": found.transpose([*range(1, self.axis + 1), 0, *range(self.axis + 1, x.rank)])}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        op = cls(node.axis(node.attribute("axis", 0), node.rank()))
        value = node.constants[1]
        if value is None or value.size != 1:
            return emit(op, with_narrow_indices(node, emit).inputs, node.outputs)
        return op._one(int(value.reshape(-1)[0]), node, emit)

    def _one(self, index: int, node: OnnxNode, emit: Emit) -> Sequence[str]:
        """A single known index is a slice."""
        shape = node.type(0).shape
        index = node.axis(index, shape[self.axis])
        part = of_ranges(shape, {self.axis: (index, index + 1, 1)})
        result = (*shape[: self.axis], *node.type(1).shape, *shape[self.axis + 1 :])
        (x,) = emit(part.simplest(shape), node.inputs[:1])
        return emit(Reshape(result), [x], node.outputs)


def with_narrow_indices(node: OnnxNode, emit: Emit) -> OnnxNode:
    """The node with constant indices of 32 bits in the place of 64: no axis is longer."""
    value = node.constants[1] if len(node.constants) > 1 else None
    if value is None or value.dtype != np.int64 or not value.size or not _fits(value):
        return node
    name = emit.constant(value.astype(np.int32), node.inputs[1])
    first, _, *rest = node.inputs
    kinds = (node.types[0], emit.type_of(name), *node.types[2:])
    return replace(node, inputs=(first, name, *rest), types=kinds)


def _fits(indices: Array) -> bool:
    low, high = limits("int32")
    return low <= int(indices.min()) and int(indices.max()) <= high


def inside(indices: Array, size: int) -> Array:
    """Positions on an axis: negative ones counted from the end, outlying ones clamped."""
    wide = indices.astype(np.int64)
    return np.clip(np.where(wide < 0, wide + size, wide), 0, max(size - 1, 0))


def check_indices(kind: TensorType, size: int) -> None:
    if kind.dtype not in ("int32", "int64"):
        raise Refusal(f"indices are {kind.dtype}; int32 and int64 are supported", "insert a Cast")
    if size == 0 and kind.elements:
        raise Refusal("indices into an axis without elements")
