"""Bases of operators that work element by element, with numpy broadcasting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import FIRST, Affine, axis_loops
from tilewright.ir.length import Length
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType, size_text
from tilewright.ir.value import Value
from tilewright.records import dataclass


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The common shape, or a refusal that names them."""
    try:
        has_lengths = any(isinstance(size, Length) for shape in shapes for size in shape)
        return _broadcast_lengths(shapes) if has_lengths else np.broadcast_shapes(*shapes)
    except ValueError:
        text = " and ".join("x".join(map(size_text, shape)) or "scalar" for shape in shapes)
        raise Refusal(f"shapes {text} do not broadcast together") from None


def _broadcast_lengths(shapes: Sequence[Shape]) -> Shape:
    """Of axes whose sizes a caller says, those that are the same at every size."""
    rank = max(map(len, shapes))
    found = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        others = dict.fromkeys(size for size in sizes if size != 1)
        if len(others) > 1:
            raise ValueError(sizes)
        found.append(next(iter(others), 1))
    return tuple(found)


def broadcast_index(shape: Shape, result: Shape) -> tuple[Affine, ...]:
    """How an operand is indexed by the loops over the broadcast result."""
    loops = axis_loops(len(result))[len(result) - len(shape) :]
    sizes = result[len(result) - len(shape) :]
    return tuple(loop if size == full else FIRST for loop, size, full in zip(loops, shape, sizes, strict=True))


@dataclass(frozen=True)
class Elementwise(Op):
    """Any number of operands, broadcast together."""

    elementwise: ClassVar[bool] = True
    accepts: ClassVar[frozenset[str] | None] = None
    """Element types that the operator is defined on; None for all."""

    def index(self, shapes: Shapes) -> Index:
        result = broadcast(list(shapes.values()))
        maps = {name: broadcast_index(shape, result) for name, shape in shapes.items()}
        return {**maps, "Y": axis_loops(len(result))}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(broadcast(list(shapes.values())))}

    def check(self, types: Mapping[str, TensorType]) -> None:
        for name, kind in types.items():
            if self.accepts is not None and kind.dtype not in self.accepts:
                raise Refusal(f"{name} is {kind.dtype}; supported: {', '.join(sorted(self.accepts))}")


FLOATS = frozenset({"float32"})
SIGNED = frozenset({"int8", "int16", "int32", "int64"})
UNSIGNED = frozenset({"uint8", "uint16", "uint32", "uint64"})
INTEGERS = SIGNED | UNSIGNED
NUMBERS = FLOATS | INTEGERS
BOOLS = frozenset({"bool"})


@dataclass(frozen=True)
class Unary(Elementwise):
    """One operand; float only unless a subclass says more."""

    accepts: ClassVar[frozenset[str] | None] = FLOATS


@dataclass(frozen=True)
class FloatUnary(Unary):
    """A function of one float, taken in double precision and rounded once; fields alpha and beta go to the kernel."""

    def function(self, x: Array) -> Array:
        raise NotImplementedError(type(self).__name__)

    def slope(self, x: Value, y: Value) -> Value:
        """The derivative at x, where the function is y."""
        raise Refusal("it has no gradient")

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient * self.slope(at["X"], at.y)}

    def numpy(self, X: Array) -> Array:
        return np.asarray(self.function(X.astype(np.float64))).astype(np.float32)


@dataclass(frozen=True)
class Binary(Elementwise):
    """Two operands of one element type."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        same_types(types)


@dataclass(frozen=True)
class Comparison(Binary):
    """Whether something holds between two operands."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("bool",)


def same_types(types: Mapping[str, TensorType]) -> None:
    """Refuse operands of different element types."""
    found = {kind.dtype for kind in types.values()}
    if len(found) > 1:
        raise Refusal(f"operands have different element types: {', '.join(sorted(found))}", "insert a Cast")


def by_extreme(at: Adjoint, name: str) -> Value:
    """The gradient by one of two operands of which the result is one; equals have half each."""
    (other,) = at.operands.keys() - {name}
    share = at[name].equals(at[other]).where(at.y.constant(0.5), 1.0)
    return (at.gradient * share).only_where(at[name].equals(at.y))
