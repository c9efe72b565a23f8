"""Orders of axes: the same operator on permuted operands, and Transposes before and after a Reshape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import count
from typing import Any

from tilewright.ir.op import Op
from tilewright.ir.types import Shape
from tilewright.ops._dialect import IntegerRows
from tilewright.ops._elementwise import Elementwise
from tilewright.ops._global_pool import GlobalPool
from tilewright.ops._interpolation import Interpolation
from tilewright.ops._loops import permuted
from tilewright.ops._per_axis import PerAxis
from tilewright.ops._pool import Pool
from tilewright.ops._reduction import Reduction
from tilewright.ops._softmax import SoftmaxLike
from tilewright.ops._windows import Windowed
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.concat import Concat
from tilewright.ops.convweightstep import ConvWeightStep
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.maxpoolgrad import MaxPoolGrad
from tilewright.ops.pad import Pad
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.slice import Slice
from tilewright.ops.tflitesigmoid import TfliteSigmoid
from tilewright.records import dataclass

SPATIAL_FIELDS = ("strides", "dilations", "kernel", "uncounted", "size")
"""Fields of convolutions and pools with a value for each spatial axis."""

Perm = tuple[int, ...]
"""Axis i of what a Transpose gives is axis perm[i] of what it takes."""


def inverse(perm: Perm) -> Perm:
    return tuple(perm.index(axis) for axis in range(len(perm)))


def then(first: Perm, second: Perm) -> Perm:
    """Two Transposes as one."""
    return permuted(first, second)


def moves_nothing(perm: Perm, shape: Shape) -> bool:
    """Whether a Transpose of a tensor of this shape leaves every element where it is."""
    moved = [axis for axis in perm if shape[axis] != 1]
    return moved == sorted(moved) or 0 in shape


# ---- operators ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moved:
    """An operator that stands behind its Transposes instead of before."""

    op: Op
    operands: tuple[int, ...]
    """Positions of the operands that it takes permuted; the others stay as they are."""
    result: bool = True
    """Whether its result comes out permuted."""


@singledispatch
def on_permuted_axes(op: Op, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    """The operator that does the same to permuted operands, or None where there is none. `shapes` are the operands'."""
    return None


@on_permuted_axes.register
def _(op: Elementwise, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(op, tuple(range(len(shapes))))


@on_permuted_axes.register
def _(op: iNoNorm, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return None


@on_permuted_axes.register
def _(op: PerAxis, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(replace(op, axis=perm.index(op.axis)), (0,)) if op.axis < len(perm) else None


@on_permuted_axes.register
def _(op: BatchNormalization, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(replace(op, axis=perm.index(op.axis)), (0,)) if len(perm) > 1 else None


@on_permuted_axes.register
def _(op: RequantShift, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(op if op.axis < 0 else replace(op, axis=perm.index(op.axis)), (0,))


@on_permuted_axes.register
def _(op: TfliteSigmoid, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(op, (0,))


@on_permuted_axes.register
def _(op: QLinearFunction, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(op, (0,))


@on_permuted_axes.register
def _(op: QLinearSteps, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(op, (0,))


@on_permuted_axes.register
def _(op: QLinearRowNorm, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    rows_move = perm[op.axis :] == tuple(range(op.axis, len(perm))) and op.block(shapes[1])[0] == op.axis
    return Moved(op, (0,)) if rows_move else None


@on_permuted_axes.register
def _(op: IntegerRows, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(op, (0,)) if perm[-1:] == (len(perm) - 1,) else None


@on_permuted_axes.register
def _(op: SoftmaxLike, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(replace(op, axis=perm.index(op.axis % len(perm))), (0,))


@on_permuted_axes.register
def _(op: Windowed, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    """Where only spatial axes change places."""
    axes = op.spatial(tuple(range(len(perm))))
    if op.arranged(0, op.channels(tuple(range(len(perm)))), op.spatial(perm)) != perm:
        return None
    order = tuple(axis - axes[0] for axis in op.spatial(perm))
    if isinstance(op, MaxPoolGrad) and order != tuple(range(op.rank)):
        return None  # of several largest elements, another one would be the first
    padding = permuted(op.padding[: op.rank], order) + permuted(op.padding[op.rank :], order)
    fields: dict[str, Any] = {
        name: permuted(getattr(op, name), order) for name in SPATIAL_FIELDS if name in op.attributes()
    }
    return Moved(replace(op, padding=padding, **fields), windowed_operands(op))


def windowed_operands(op: Op) -> tuple[int, ...]:
    """Those of a convolution, pool or gradient that have channels: images, and filters, which need not be constants."""
    if isinstance(op, ConvWeightStep):
        return (0, 1, 2)
    return (0,) if isinstance(op, Pool) else (0, 1)


@on_permuted_axes.register
def _(op: Concat, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(replace(op, axis=perm.index(op.axis)), tuple(range(len(shapes))))


@on_permuted_axes.register
def _(op: Pad, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    rank = len(perm)
    return Moved(replace(op, pads=permuted(op.pads[:rank], perm) + permuted(op.pads[rank:], perm)), (0,))


@on_permuted_axes.register
def _(op: Slice, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(Slice(*(permuted(values, perm) for values in (op.starts, op.steps, op.sizes))), (0,))


@on_permuted_axes.register
def _(op: Interpolation, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    return Moved(replace(op, axis=perm.index(op.axis)), (0,))


@on_permuted_axes.register
def _(op: Reduction, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    moved = replace(op, axes=tuple(sorted(perm.index(axis) for axis in op.axes)))
    if op.keepdims:
        return Moved(moved, (0,))
    kept = [axis for axis in perm if axis not in op.axes]
    return Moved(moved, (0,), result=False) if kept == sorted(kept) else None


@on_permuted_axes.register
def _(op: GlobalPool, perm: Perm, shapes: Sequence[Shape]) -> Moved | None:
    reduction = ReduceMean if isinstance(op, GlobalAveragePool) else ReduceMax
    return Moved(reduction(tuple(sorted(perm.index(axis) for axis in range(2, len(perm))))), (0,))


# ---- views --------------------------------------------------------------------------------------------------------


def through_reshape(perm: Perm, shape: Shape, wanted: Shape) -> tuple[Shape, Perm] | None:
    """A Reshape to `wanted` of a Transpose of a tensor of `shape`, as a Transpose of a Reshape (shape, perm).

    None where the Reshape joins or splits axes that the Transpose has torn apart.
    """
    if 0 in shape:
        return None
    kept = [axis for axis in range(len(shape)) if shape[axis] != 1]
    order = [kept.index(axis) for axis in perm if shape[axis] != 1]
    sizes = [shape[kept[axis]] for axis in order]
    groups = _groups(sizes, [size for size in wanted if size != 1])
    if any(order[first:end] != list(range(order[first], order[first] + end - first)) for first, end, _ in groups):
        return None
    in_place = sorted(range(len(groups)), key=lambda number: order[groups[number][0]])
    ones = wanted.count(1)
    starts, blocks = {}, [1] * ones
    for number in in_place:
        starts[number] = len(blocks)
        blocks += groups[number][2]
    long = iter([starts[number] + at for number in range(len(groups)) for at in range(len(groups[number][2]))])
    unit = count()
    return tuple(blocks), tuple(next(unit) if size == 1 else next(long) for size in wanted)


def before_reshape(shape: Shape, wanted: Shape, perm: Perm) -> tuple[Perm, Shape] | None:
    """A Transpose of a Reshape to `wanted` of a tensor of `shape`, as a Reshape of a Transpose (perm, shape)."""
    result = permuted(wanted, perm)
    undone = through_reshape(inverse(perm), result, shape)
    if undone is None:
        return None
    return inverse(undone[1]), result


def _groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[int, int, list[int]]]:
    """The smallest runs of axes that a Reshape turns into others: first and end before, sizes after. No size is 1."""
    groups, at, position = [], 0, 0
    while at < len(before):
        first, left, right, sizes = at, before[at], after[position], [after[position]]
        at, position = at + 1, position + 1
        while left != right:
            if left < right:
                left, at = left * before[at], at + 1
            else:
                sizes.append(after[position])
                right, position = right * after[position], position + 1
        groups.append((first, at, sizes))
    return groups
