"""Tensors of a graph that is being written, with arithmetic: what rules for gradients are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tilewright.errors import instance
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.records import dataclass


class Maker(Protocol):
    """Adds nodes to a graph; operators are asked for by name, because rules stand in the files of operators."""

    def make(self, kind: str, inputs: Sequence[str], fields: dict[str, Any]) -> tuple[str, ...]: ...

    def constant(self, array: Array, hint: str = "constant") -> str: ...

    def type_of(self, tensor: str) -> TensorType: ...

    def known(self, tensor: str) -> Array | None: ...


@dataclass(frozen=True)
class Value:
    """One tensor. Numbers beside it take its element type."""

    maker: Maker
    name: str

    # ---- what it is -----------------------------------------------------------------------------------------------

    @property
    def type(self) -> TensorType:
        return self.maker.type_of(self.name)

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def known(self) -> Array | None:
        """Its elements, if it is a constant."""
        return self.maker.known(self.name)

    # ---- any operator ---------------------------------------------------------------------------------------------

    def apply(self, kind: str, *others: Value | float, **fields: Any) -> Value:
        """The first result of an operator that has this as its first operand."""
        return self.applied(kind, *others, **fields)[0]

    def applied(self, kind: str, *others: Value | float, **fields: Any) -> tuple[Value, ...]:
        """All of its results."""
        names = [self.name, *(self._lifted(other).name for other in others)]
        return tuple(Value(self.maker, name) for name in self.maker.make(kind, names, fields))

    def constant(self, array: Any, dtype: str = "") -> Value:
        """Of this element type unless another is named."""
        element = np.dtype(dtype) if dtype else self.type.element
        return Value(self.maker, self.maker.constant(np.ascontiguousarray(np.asarray(array, element))))

    def zeros(self, shape: Shape) -> Value:
        return self.constant(np.zeros(shape))

    def _lifted(self, other: Value | float) -> Value:
        return other if isinstance(other, Value) else self.constant(np.asarray(other, self.type.element).reshape(()))

    # ---- arithmetic -----------------------------------------------------------------------------------------------

    def __add__(self, other: Value | float) -> Value:
        return self if _is(other, 0.0) else self.apply("Add", other)

    def __radd__(self, other: float) -> Value:
        return self + other

    def __sub__(self, other: Value | float) -> Value:
        return self.apply("Sub", other)

    def __rsub__(self, other: float) -> Value:
        return self._lifted(other).apply("Sub", self)

    def __mul__(self, other: Value | float) -> Value:
        return self if _is(other, 1.0) else -self if _is(other, -1.0) else self.apply("Mul", other)

    def __rmul__(self, other: float) -> Value:
        return self * other

    def __truediv__(self, other: Value | float) -> Value:
        return self.apply("Div", other) if isinstance(other, Value) else self * (1.0 / other)

    def __rtruediv__(self, other: float) -> Value:
        return self._lifted(other).apply("Div", self)

    def __neg__(self) -> Value:
        return self.apply("Neg")

    def __gt__(self, other: Value | float) -> Value:
        return self.apply("Greater", other)

    def __lt__(self, other: Value | float) -> Value:
        return self.apply("Less", other)

    def __ge__(self, other: Value | float) -> Value:
        return self.apply("GreaterOrEqual", other)

    def __le__(self, other: Value | float) -> Value:
        return self.apply("LessOrEqual", other)

    def equals(self, other: Value | float) -> Value:
        return self.apply("Equal", other)

    def both(self, other: Value) -> Value:
        return self.apply("And", other)

    def where(self, yes: Value | float, no: Value | float) -> Value:
        """Of a truth value: one of two, of which at least one is a tensor."""
        like = instance(yes if isinstance(yes, Value) else no, Value)
        return self.apply("Where", like._lifted(yes), like._lifted(no))

    def only_where(self, condition: Value) -> Value:
        """Itself where something holds, elsewhere zero, also where it is no number."""
        return condition.where(self, 0.0)

    def exp(self) -> Value:
        return self.apply("Exp")

    def log(self) -> Value:
        return self.apply("Log")

    def sqrt(self) -> Value:
        return self.apply("Sqrt")

    def sigmoid(self) -> Value:
        return self.apply("Sigmoid")

    def tanh(self) -> Value:
        return self.apply("Tanh")

    def sign(self) -> Value:
        return self.apply("Sign")

    def squared(self) -> Value:
        return self * self

    def cast(self, dtype: str) -> Value:
        return self if self.type.dtype == dtype else self.apply("Cast", to=dtype)

    # ---- sums -----------------------------------------------------------------------------------------------------

    def sum(self, axes: Sequence[int], keepdims: bool = True) -> Value:
        if not axes:
            return self
        found = tuple(sorted(axis % self.rank for axis in axes))
        if all(self.shape[axis] == 1 for axis in found):
            return self if keepdims else self.reshape([n for axis, n in enumerate(self.shape) if axis not in found])
        return self.apply("ReduceSum", axes=found, keepdims=keepdims)

    def mean(self, axes: Sequence[int]) -> Value:
        return self.apply("ReduceMean", axes=tuple(sorted(axis % self.rank for axis in axes)), keepdims=True)

    def summed_to(self, shape: Shape) -> Value:
        """Over all elements that broadcasting has made of one of that shape."""
        surplus = self.rank - len(shape)
        wide = (1,) * surplus + tuple(shape)
        axes = [axis for axis, size in enumerate(self.shape) if wide[axis] == 1 and size != 1]
        return self.sum(axes).reshape(shape)

    # ---- places of elements ---------------------------------------------------------------------------------------

    def reshape(self, shape: Sequence[int]) -> Value:
        return self if self.shape == tuple(shape) else self.apply("Reshape", shape=tuple(shape))

    def transpose(self, order: Sequence[int]) -> Value:
        if list(order) == sorted(order):
            return self
        moved = [axis for axis in order if self.shape[axis] != 1]
        if moved == sorted(moved):
            return self.reshape([self.shape[axis] for axis in order])
        return self.apply("Transpose", perm=tuple(order))

    def swapped(self) -> Value:
        """With the last two axes exchanged."""
        return self.transpose([*range(self.rank - 2), self.rank - 1, self.rank - 2])

    def expand(self, shape: Sequence[int]) -> Value:
        """Broadcast to a shape that has the elements of both."""
        wanted = np.broadcast_shapes(self.shape, tuple(shape))
        if math.prod(wanted) == math.prod(self.shape):
            return self.reshape(wanted)
        return self.apply("Expand", shape=tuple(wanted))

    def part(self, axis: int, start: int, stop: int, step: int = 1) -> Value:
        """Elements of an axis, as a slice of Python with positions that exist."""
        axis %= self.rank
        taken = range(start, stop, step)
        if len(taken) == self.shape[axis] and step > 0:
            return self
        starts, steps, sizes = [0] * self.rank, [1] * self.rank, list(self.shape)
        starts[axis], steps[axis], sizes[axis] = start, step, len(taken)
        return self.apply("Slice", starts=tuple(starts), steps=tuple(steps), sizes=tuple(sizes))

    def reversed(self, axes: Sequence[int]) -> Value:
        """The elements of some axes from the last to the first."""
        if all(self.shape[axis] == 1 for axis in axes):
            return self
        steps = tuple(-1 if axis in axes else 1 for axis in range(self.rank))
        starts = tuple(size - 1 if axis in axes else 0 for axis, size in enumerate(self.shape))
        return self.apply("Slice", starts=starts, steps=steps, sizes=self.shape)

    def at(self, axis: int, position: int) -> Value:
        """One position of an axis, without the axis."""
        axis %= self.rank
        return self.part(axis, position, position + 1).reshape((*self.shape[:axis], *self.shape[axis + 1 :]))

    def pad(self, spans: Sequence[tuple[int, int]]) -> Value:
        """Zeros before and after each axis; negative ones are cut off."""
        cut = self
        for axis, (before, after) in enumerate(spans):
            if before < 0 or after < 0:
                cut = cut.part(axis, max(-before, 0), cut.shape[axis] + min(after, 0))
        border = (*(max(before, 0) for before, _ in spans), *(max(after, 0) for _, after in spans))
        return cut.apply("Pad", pads=border) if any(border) else cut

    def spread(self, axis: int, step: int) -> Value:
        """With `step - 1` zeros between the elements of an axis."""
        size = self.shape[axis]
        if step == 1 or size <= 1:
            return self
        apart = self.reshape((*self.shape[: axis + 1], 1, *self.shape[axis + 1 :]))
        wide = apart.pad([(0, step - 1 if at == axis + 1 else 0) for at in range(apart.rank)])
        joined = wide.reshape((*self.shape[:axis], size * step, *self.shape[axis + 1 :]))
        return joined.part(axis, 0, (size - 1) * step + 1)

    def joined(self, axis: int, *others: Value) -> Value:
        """One after the other along an axis."""
        return self.apply("Concat", *others, axis=axis % self.rank) if others else self

    def times_matrix(self, other: Value, trans_a: bool = False, trans_b: bool = False) -> Value:
        return self.apply("MatMul", other, trans_a=trans_a, trans_b=trans_b)


def _is(operand: Value | float, number: float) -> bool:
    return not isinstance(operand, Value) and operand == number
