"""Bases of operators that reduce some axes of one tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint
from tilewright.ir.affine import FIRST, axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ir.value import Value
from tilewright.ops._chosen_axes import chosen
from tilewright.ops._compose import Compose
from tilewright.ops._elementwise import FLOATS, NUMBERS
from tilewright.records import dataclass


@dataclass(frozen=True)
class Reduction(Op):
    """Y has one element for all elements of X along `axes`, which stay as axes of size 1 if `keepdims`."""

    accepts: ClassVar[frozenset[str]] = NUMBERS
    axes: Shape = ()
    keepdims: bool = True

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        kept = [FIRST if axis in self.axes else loop for axis, loop in enumerate(loops)]
        return {"X": loops, "Y": tuple(kept if self.keepdims else (loop for loop in kept if loop is not FIRST))}

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype not in self.accepts:
            raise Refusal(f"X is {kind.dtype}; supported: {', '.join(sorted(self.accepts))}", "insert a Cast")
        if len(set(self.axes)) != len(self.axes) or not set(self.axes) <= set(range(len(kind.shape))):
            raise Refusal(f"axes {self.axes} of a tensor of rank {len(kind.shape)}")

    def count(self, shapes: Shapes) -> int:
        """How many elements one result is made of."""
        return math.prod(shapes["X"][axis] for axis in self.axes)

    def kept(self, at: Adjoint, value: Value) -> Value:
        """What has the shape of the result, with an axis of size 1 for each that is reduced."""
        return value.reshape([1 if axis in self.axes else size for axis, size in enumerate(at["X"].shape)])

    def by_extremes(self, at: Adjoint) -> Value:
        """The gradient of which every element that is the result has an equal share."""
        is_result = at["X"].equals(self.kept(at, at.y)).cast("float32")
        return self.kept(at, at.gradient) * (is_result / is_result.sum(self.axes))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if not node.has(1) or node.constants[1] is not None or "axes" in node.attributes:
            return super().expand(node, emit)
        make, keepdims = Compose(node, emit), bool(node.attribute("keepdims", 1))
        node.ignore("noop_with_empty_axes")
        ways = _fitting(node, keepdims)
        fields = cls.dialect(node)
        return make.give(
            chosen(
                make, node.inputs[1], node.rank(), ways, lambda way: make(cls(way, keepdims, **fields), node.inputs[0])
            )
        )

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        axes, keepdims = reduced_axes(node), bool(node.attribute("keepdims", 1))
        return cls(axes, keepdims, **cls.dialect(node)), node.inputs[:1]

    @classmethod
    def dialect(cls, node: OnnxNode) -> dict[str, Any]:
        """Fields that depend on whether the node belongs to the integer dialect."""
        return {}


@dataclass(frozen=True)
class Sum(Reduction):
    """Reductions that add up something: in 64 bits, then brought to the result's type."""

    def each(self, X: Array) -> Array:
        """What is added up for each element (already in 64 bits)."""
        return X

    def accumulate(self, X: Array) -> Array:
        return self.each(X.astype(wide_type(X))).sum(axis=self.axes, keepdims=self.keepdims)

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return total.astype(X.dtype)


@dataclass(frozen=True)
class FloatSum(Sum):
    """A sum that a function of floats is taken of."""

    accepts: ClassVar[frozenset[str]] = FLOATS


def wide_type(X: Array) -> str:
    """The 64-bit type in which sums are exact, or nearly so."""
    return {"f": "float64", "u": "uint64"}.get(X.dtype.kind, "int64")


def reduced_axes(node: OnnxNode) -> Shape:
    """The axes by attribute or input; without any, all of them or (`noop_with_empty_axes`) none."""
    axes = node.integers_given(1, "axes")
    nothing = bool(node.attribute("noop_with_empty_axes", 0))
    if not axes:
        return () if nothing else tuple(range(node.rank()))
    return tuple(sorted({node.axis(axis, node.rank()) for axis in axes}))


def _fitting(node: OnnxNode, keepdims: bool) -> list[Shape]:
    """Sets of as many axes as the second operand has, which give the declared shape."""
    shape, count, declared = node.type(0).shape, node.type(1).elements, (*node.declared, None)[0]
    if declared is None or not 0 < count <= len(shape):
        return []
    return [axes for axes in combinations(range(len(shape)), count) if _left(shape, axes, keepdims) == declared]


def _left(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    sizes = (1 if axis in axes else size for axis, size in enumerate(shape) if keepdims or axis not in axes)
    return tuple(sizes)


def lowest(dtype: Any) -> Any:
    """What no value of the type is below."""
    if np.dtype(dtype).kind == "f":
        return -np.inf
    return False if np.dtype(dtype).kind == "b" else np.iinfo(dtype).min


def highest(dtype: Any) -> Any:
    if np.dtype(dtype).kind == "f":
        return np.inf
    return True if np.dtype(dtype).kind == "b" else np.iinfo(dtype).max
