"""Gradients of sums of products, from index maps alone.

An operator whose result is Y[y] = sum of A[a] * B[b] * ..., where a, b and y are affine in its loops, has the gradient
dA[a] = sum of dY[y] * B[b] * ... over the same loops: another operand is written. Axes with a stride are cut out where
they are read and spread out where they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint
from tilewright.ir.affine import Affine
from tilewright.ir.contraction import Labels, Term, contracted
from tilewright.ir.op import Op
from tilewright.ir.value import Value
from tilewright.records import dataclass


@dataclass(frozen=True)
class _Axis:
    """An axis that is `start + step * loop`, or several loops one in the other."""

    labels: Labels
    start: int = 0
    step: int = 1


def exchanged(op: Op, at: Adjoint, operand: str, factors: Sequence[str] = ()) -> Value:
    """The gradient by an operand that the result is linear in; `factors` are what else it is multiplied with."""
    index, extents = op.index(at.shapes), op.extents(at.shapes)
    result = next(iter(at.by))
    terms = [_read(at.by[result], index[result], extents)]
    terms += [_read(at[name], index[name], extents) for name in factors if name != operand]
    axes = [_axis(expression, extents) for expression in index[operand]]
    wanted = tuple(label for axis in axes for label in axis.labels)
    return _written(contracted(terms, wanted, extents), axes, at[operand].shape)


def _read(value: Value, index: Sequence[Affine], extents: Mapping[str, int]) -> Term:
    """The elements that the loops touch, with an axis for each loop; what lies outside is zero."""
    axes = [_axis(expression, extents) for expression in index]
    for number, axis in enumerate(axes):
        if len(axis.labels) != 1:
            continue
        first, last = sorted((axis.start, axis.start + axis.step * (extents[axis.labels[0]] - 1)))
        before, after = max(-first, 0), max(last - value.shape[number] + 1, 0)
        value = value.pad([(before, after) if at == number else (0, 0) for at in range(value.rank)])
        start = axis.start + before
        value = _taken(value, number, start, axis.step, extents[axis.labels[0]])
    labels = tuple(label for axis in axes for label in axis.labels)
    return Term(value.reshape([extents[label] for label in labels]), labels)


def _taken(value: Value, axis: int, start: int, step: int, count: int) -> Value:
    if step == 1 and start == 0 and count == value.shape[axis]:
        return value
    starts, steps, sizes = [0] * value.rank, [1] * value.rank, list(value.shape)
    starts[axis], steps[axis], sizes[axis] = start, step, count
    return value.apply("Slice", starts=tuple(starts), steps=tuple(steps), sizes=tuple(sizes))


def _written(value: Value, axes: Sequence[_Axis], shape: Sequence[int]) -> Value:
    """The elements where the loops write them, zeros elsewhere."""
    value = value.reshape(_joined_sizes(value, axes))
    for number, axis in enumerate(axes):
        if len(axis.labels) != 1:
            continue
        start, step = axis.start, axis.step
        if step < 0:
            start, step = start + step * (value.shape[number] - 1), -step
            value = value.reversed([number])
        wide = value.spread(number, step)
        after = shape[number] - start - wide.shape[number]
        value = wide.pad([(start, after) if at == number else (0, 0) for at in range(wide.rank)])
    return value.reshape(shape)


def _joined_sizes(value: Value, axes: Sequence[_Axis]) -> list[int]:
    """Of loops one in the other, one axis."""
    sizes, position = [], 0
    for axis in axes:
        size = 1
        for _ in axis.labels:
            size *= value.shape[position]
            position += 1
        sizes.append(size)
    return sizes


def _axis(expression: Affine, extents: Mapping[str, int]) -> _Axis:
    terms = [(loop, factor) for loop, factor in expression.terms if factor]
    if expression.width != 1:
        raise Refusal("one of its operands is read as a whole")
    if not terms and expression.offset == 0:
        return _Axis(())
    if len(terms) == 1:
        return _Axis((terms[0][0],), expression.offset, terms[0][1])
    nested = sorted(terms, key=lambda term: -term[1])
    step = 1
    for loop, factor in reversed(nested):
        if factor != step or expression.offset:
            raise Refusal("two of its loops overlap in an operand")
        step *= extents[loop]
    return _Axis(tuple(loop for loop, _ in nested))
