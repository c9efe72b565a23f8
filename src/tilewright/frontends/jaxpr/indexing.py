"""Parts of tensors at places that are computed: gather, scatter, and slices that begin there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.frontends.jaxpr.emitter import Emitter, Value
from tilewright.frontends.jaxpr.rules import Equation, refuse, rule, shape_in, shape_out, whole

REDUCTIONS = {"scatter": "none", "scatter-add": "add", "scatter-mul": "mul", "scatter-min": "min", "scatter-max": "max"}
ALSO = {"scatter_add": "add", "scatter_mul": "mul", "scatter_min": "min", "scatter_max": "max"}


# ---- slices -----------------------------------------------------------------------------------------------------


@rule("dynamic_slice")
def dynamic_slice(em: Emitter, equation: Equation, x: Value, *starts: Value) -> Value:
    return _window(em, em.full(x, shape_in(equation)), starts, equation.params["slice_sizes"])


def _window(em: Emitter, x: Value, starts: Sequence[Value], sizes: Sequence[int]) -> Value:
    """A part of each axis from a start that is moved inside, as JAX does."""
    for axis, (start, count) in enumerate(zip(starts, sizes, strict=True)):
        if count == x.shape[axis]:
            continue
        inside = _clamped(em, start, x.shape[axis] - count)
        if isinstance(inside, np.ndarray):
            x = em.slice(x, [int(inside)], [int(inside) + count], [axis], [1])
        else:
            places = _counted(em, inside, count)
            x = em.op(
                "Gather", x, _as_index(em, places), shape=(*x.shape[:axis], count, *x.shape[axis + 1 :]), axis=axis
            )
    return x


def _clamped(em: Emitter, start: Value, last: int) -> Value:
    if isinstance(start, np.ndarray):
        return np.clip(start, 0, last)
    return em.elementwise("Clip", start, np.asarray(0, start.dtype), np.asarray(last, start.dtype))


def _as_index(em: Emitter, places: Value) -> Value:
    """Of the types that ONNX has for indices."""
    return places if places.dtype in (np.int32, np.int64) else em.cast(places, np.int64)


def _counted(em: Emitter, start: Value, count: int) -> Value:
    """start, start + 1, ..."""
    return em.elementwise("Add", em.reshape(start, (1,)), np.arange(count, dtype=start.dtype))


@rule("dynamic_update_slice")
def dynamic_update_slice(em: Emitter, equation: Equation, x: Value, update: Value, *starts: Value) -> Value:
    x, update = whole(em, equation, [x, update])
    return _written(em, x, update, starts)


def _written(em: Emitter, x: Value, update: Value, starts: Sequence[Value]) -> Value:
    axes = [axis for axis, size in enumerate(x.shape) if update.shape[axis] != size]
    if not axes:
        return update
    if len(axes) > 1:
        return _written_flat(em, x, update, starts)
    (axis,) = axes
    start = _clamped(em, starts[axis], x.shape[axis] - update.shape[axis])
    if isinstance(start, np.ndarray):
        return _joined(em, x, update, axis, int(start))
    order = [axis, *(other for other in range(len(x.shape)) if other != axis)]
    places = em.reshape(_counted(em, start, update.shape[axis]), (update.shape[axis], 1))
    data, rows = em.transpose(x, order), em.transpose(update, order)
    made = em.op("ScatterND", data, em.cast(places, np.int64), rows, shape=data.shape)
    return em.transpose(made, [int(a) for a in np.argsort(order)])


def _joined(em: Emitter, x: Value, update: Value, axis: int, start: int) -> Value:
    end = start + update.shape[axis]
    before = em.slice(x, [0], [start], [axis], [1])
    behind = em.slice(x, [end], [x.shape[axis]], [axis], [1])
    parts = [part for part in (before, update, behind) if part.shape[axis]]
    return em.op("Concat", *parts, shape=x.shape, axis=axis)


def _written_flat(em: Emitter, x: Value, update: Value, starts: Sequence[Value]) -> Value:
    """Places as numbers of elements: those of a part at the origin, and how far away the part begins."""
    strides = [prod(x.shape[axis + 1 :]) for axis in range(len(x.shape))]
    grid = np.indices(update.shape).reshape(len(strides), -1)
    places: Value = np.asarray(np.dot(strides, grid), np.int32)
    for axis, (start, stride) in enumerate(zip(starts, strides, strict=True)):
        inside = em.cast(_clamped(em, start, x.shape[axis] - update.shape[axis]), np.int32)
        if isinstance(inside, np.ndarray) and isinstance(places, np.ndarray):
            places = np.asarray(places + inside * stride, np.int32)
        else:
            far = em.elementwise("Mul", em.reshape(inside, (1,)), np.asarray(stride, np.int32))
            places = em.elementwise("Add", places, far)
    count = prod(update.shape)
    rows = em.cast(em.reshape(places, (count, 1)), np.int64)
    made = em.op(
        "ScatterND", em.reshape(x, (prod(x.shape),)), rows, em.reshape(update, (count,)), shape=(prod(x.shape),)
    )
    return em.reshape(made, x.shape)


# ---- gather -----------------------------------------------------------------------------------------------------


@rule("gather")
def gather(em: Emitter, equation: Equation, *values: Value) -> Value:
    x, places = whole(em, equation, values)
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    places = _inside(em, equation, x, places)
    if getattr(numbers, "operand_batching_dims", ()):
        return _along_axis(em, equation, x, places)
    if len(places.shape) == 1 and not numbers.collapsed_slice_dims:
        return _one_window(em, equation, x, places)
    indexed = list(numbers.start_index_map)
    if sorted(indexed) != sorted(numbers.collapsed_slice_dims) or not _whole_slices(x, sizes, indexed):
        return _windows(em, equation, x, places)
    if len(indexed) == 1:
        return _rows(em, equation, x, places, indexed[0])
    order = [*indexed, *(axis for axis in range(len(x.shape)) if axis not in indexed)]
    moved = em.transpose(x, order)
    shape = (*places.shape[:-1], *moved.shape[len(indexed) :])
    made = em.op("GatherND", moved, em.cast(places, np.int64), shape=shape)
    return _arranged(em, made, numbers.offset_dims, len(places.shape) - 1)


def _inside(em: Emitter, equation: Equation, x: Value, places: Value) -> Value:
    """Places beyond an end are moved to it where JAX is asked for that; otherwise they must not occur."""
    if "CLIP" not in str(equation.params["mode"]).upper():
        return places
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    last = np.asarray([x.shape[axis] - sizes[axis] for axis in numbers.start_index_map], places.dtype)
    if isinstance(places, np.ndarray):
        return np.clip(places, 0, last)
    return em.elementwise("Min", em.elementwise("Max", places, np.asarray(0, places.dtype)), last)


def _whole_slices(x: Value, sizes: Sequence[int], indexed: Sequence[int]) -> bool:
    return all(size == (1 if axis in indexed else x.shape[axis]) for axis, size in enumerate(sizes))


def _rows(em: Emitter, equation: Equation, x: Value, places: Value, axis: int) -> Value:
    """Elements of one axis: ONNX's Gather, whose new axes stand where the axis was."""
    flat = em.reshape(places, places.shape[:-1])
    made = em.op(
        "Gather", x, _as_index(em, flat), shape=(*x.shape[:axis], *flat.shape, *x.shape[axis + 1 :]), axis=axis
    )
    rank = len(flat.shape)
    order = [*range(axis, axis + rank), *range(axis), *range(axis + rank, len(made.shape))]
    return _arranged(em, em.transpose(made, order), equation.params["dimension_numbers"].offset_dims, rank)


def _arranged(em: Emitter, x: Value, offsets: Sequence[int], rank: int) -> Value:
    """Axes of the places, then those of the slices, put where JAX wants them."""
    batch = [axis for axis in range(len(x.shape)) if axis not in offsets]
    back = [*batch, *offsets]
    return em.transpose(x, [back.index(axis) for axis in range(len(x.shape))])


def _one_window(em: Emitter, equation: Equation, x: Value, places: Value) -> Value:
    """One part of the tensor: a slice that begins at a computed place."""
    numbers = equation.params["dimension_numbers"]
    starts: list[Value] = [np.asarray(0, places.dtype) for _ in x.shape]
    for position, axis in enumerate(numbers.start_index_map):
        starts[axis] = em.reshape(em.slice(places, [position], [position + 1], [0], [1]), ())
    return em.reshape(_window(em, x, starts, equation.params["slice_sizes"]), shape_out(equation))


def _windows(em: Emitter, equation: Equation, x: Value, places: Value) -> Value:
    """Several parts of one axis, each `count` long."""
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    if len(numbers.start_index_map) != 1 or numbers.collapsed_slice_dims:
        raise refuse("gathers parts of several axes", "index one axis after the other")
    (axis,) = numbers.start_index_map
    if not _whole_slices(x, [1 if a == axis else size for a, size in enumerate(sizes)], [axis]):
        raise refuse("gathers parts of several axes", "index one axis after the other")
    wide = em.elementwise("Add", places, np.arange(sizes[axis], dtype=places.dtype))
    made = em.op(
        "Gather", x, _as_index(em, wide), shape=(*x.shape[:axis], *wide.shape, *x.shape[axis + 1 :]), axis=axis
    )
    rank = len(places.shape) - 1
    order = [*range(axis, axis + rank), *range(axis), *range(axis + rank, len(made.shape))]
    return _arranged(em, em.transpose(made, order), numbers.offset_dims, rank)


def _along_axis(em: Emitter, equation: Equation, x: Value, places: Value) -> Value:
    """One element of an axis for each place of the others: take_along_axis."""
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    indexed = list(numbers.start_index_map)
    if len(indexed) != 1 or any(size != 1 for size in sizes) or numbers.offset_dims:
        raise refuse("gathers in batches", "use jnp.take_along_axis or jnp.take")
    batch, where = list(numbers.operand_batching_dims), list(numbers.start_indices_batching_dims)
    if len(batch) + 1 != len(x.shape):
        raise refuse("gathers in batches of fewer axes than the tensor has", "use jnp.take_along_axis")
    flat = em.reshape(places, places.shape[:-1])
    own = [axis for axis in range(len(flat.shape)) if axis not in where]
    order = [where[batch.index(axis)] if axis in batch else None for axis in range(len(x.shape))]
    if len(own) != 1:
        raise refuse("gathers in batches", "use jnp.take_along_axis")
    axes = [own[0] if axis is None else axis for axis in order]
    indices = em.transpose(flat, axes)
    made = em.op("GatherElements", x, em.cast(indices, np.int64), shape=indices.shape, axis=indexed[0])
    return em.transpose(made, [int(axis) for axis in np.argsort(axes)])


# ---- scatter ----------------------------------------------------------------------------------------------------


@rule(*REDUCTIONS, *ALSO)
def scatter(em: Emitter, equation: Equation, *values: Value) -> Value:
    x, places, update = whole(em, equation, values)
    numbers = equation.params["dimension_numbers"]
    if getattr(numbers, "operand_batching_dims", ()):
        raise refuse("scatters in batches", "write with x.at[i, j].set(...)")
    indexed = list(numbers.scatter_dims_to_operand_dims)
    reduction = {**REDUCTIONS, **ALSO}[equation.primitive.name]
    if len(places.shape) == 1 and not (reduction != "none" and numbers.inserted_window_dims):
        return _one_part(em, equation, x, places, update, reduction)
    if sorted(indexed) != sorted(numbers.inserted_window_dims):
        raise refuse("scatters parts at several places", "write one part at a time")
    order = [*indexed, *(axis for axis in range(len(x.shape)) if axis not in indexed)]
    moved, windows = em.transpose(x, order), list(numbers.update_window_dims)
    rest = [axis for axis in range(len(update.shape)) if axis not in windows]
    if _sizes(update, windows) != list(moved.shape[len(indexed) :]):
        raise refuse("scatters parts that are smaller than the tensor", "write whole rows")
    rows = em.transpose(update, [*rest, *windows])
    made = em.op("ScatterND", moved, em.cast(places, np.int64), rows, shape=moved.shape, **_named(reduction))
    return em.transpose(made, [int(axis) for axis in np.argsort(order)])


def _sizes(x: Value, axes: Sequence[int]) -> list[int]:
    return [x.shape[axis] for axis in axes]


def _named(reduction: str) -> dict[str, Any]:
    return {} if reduction == "none" else {"reduction": reduction}


def _one_part(em: Emitter, equation: Equation, x: Value, places: Value, update: Value, reduction: str) -> Value:
    """One part of the tensor is written, or added to."""
    numbers = equation.params["dimension_numbers"]
    sizes = iter(_sizes(update, numbers.update_window_dims))
    shape = tuple(1 if axis in numbers.inserted_window_dims else next(sizes) for axis in range(len(x.shape)))
    starts: list[Value] = [np.asarray(0, np.int32) for _ in x.shape]
    for position, axis in enumerate(numbers.scatter_dims_to_operand_dims):
        starts[axis] = em.reshape(em.slice(places, [position], [position + 1], [0], [1]), ())
    update = em.reshape(update, shape)
    if reduction != "none":
        kind = {"add": "Add", "mul": "Mul", "min": "Min", "max": "Max"}[reduction]
        update = em.elementwise(kind, _window(em, x, starts, shape), update)
    return _written(em, x, update, starts)
