"""Shapes, orders of axes, parts of tensors, and sorting."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from tilewright.frontends.jaxpr.emitter import Emitter, Tensor, Value
from tilewright.frontends.jaxpr.rules import Equation, refuse, rule, shape_in, shape_out, whole


@rule("broadcast_in_dim")
def broadcast(em: Emitter, equation: Equation, x: Value, *_: Value) -> Value:
    """Only axes are added: whoever cannot broadcast asks for the whole shape."""
    places = dict(zip(equation.params["broadcast_dimensions"], x.shape, strict=False)) if x.shape else {}
    return em.reshape(x, tuple(places.get(axis, 1) for axis in range(len(shape_out(equation)))))


@rule("reshape", "squeeze", "expand_dims")
def reshape(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values[:1])
    order = equation.params.get("dimensions") if equation.primitive.name == "reshape" else None
    return em.reshape(x if order is None else em.transpose(x, order), shape_out(equation))


@rule("tile")
def tile(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    return em.op("Tile", x, np.asarray(equation.params["reps"], np.int64), shape=shape_out(equation))


@rule("transpose")
def transpose(em: Emitter, equation: Equation, x: Value) -> Value:
    return em.transpose(x, equation.params["permutation"]) if x.shape else x


@rule("rev")
def reverse(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    axes = equation.params["dimensions"]
    ends = [-x.shape[axis] - 1 for axis in axes]
    return em.slice(x, [-1] * len(axes), ends, axes, [-1] * len(axes))


@rule("concatenate")
def concatenate(em: Emitter, equation: Equation, *values: Value) -> Value:
    parts = [part for part in whole(em, equation, values) if 0 not in part.shape]
    if len(parts) == 1:
        return parts[0]
    return em.op("Concat", *parts, shape=shape_out(equation), axis=equation.params["dimension"])


@rule("stack")
def stack(em: Emitter, equation: Equation, *values: Value) -> Value:
    axis, shape = equation.params["axis"], shape_out(equation)
    single = tuple(1 if a == axis else size for a, size in enumerate(shape))
    return em.op("Concat", *(em.reshape(x, single) for x in whole(em, equation, values)), shape=shape, axis=axis)


@rule("unstack")
def unstack(em: Emitter, equation: Equation, *values: Value) -> list[Value]:
    (x,) = whole(em, equation, values)
    axis, shape = equation.params["axis"], shape_out(equation)
    return [em.reshape(em.slice(x, [i], [i + 1], [axis], [1]), shape) for i in range(x.shape[axis])]


@rule("split")
def split(em: Emitter, equation: Equation, *values: Value) -> list[Value]:
    (x,) = whole(em, equation, values)
    axis, sizes = equation.params["axis"], [int(size) for size in equation.params["sizes"]]
    ends = list(accumulate(sizes))
    if isinstance(x, np.ndarray):
        return list(np.split(x, ends[:-1], axis))
    results = [(shape_out(equation, i), x.dtype) for i in range(len(sizes))]
    return list(em.many("Split", x, np.asarray(sizes, np.int64), results=results, axis=axis))


@rule("slice")
def cut(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    starts, ends = equation.params["start_indices"], equation.params["limit_indices"]
    steps = equation.params["strides"] or (1,) * len(starts)
    axes = [a for a, size in enumerate(x.shape) if (starts[a], ends[a], steps[a]) != (0, size, 1)]
    if not axes:
        return x
    first, last, step = ([int(part[a]) for a in axes] for part in (starts, ends, steps))
    return em.slice(x, first, last, axes, step)


@rule("pad")
def pad(em: Emitter, equation: Equation, x: Value, value: Value) -> Value:
    """Between elements first, then around; less than nothing is cut away."""
    x = em.full(x, shape_in(equation))
    config = [tuple(map(int, axis)) for axis in equation.params["padding_config"]]
    for axis, (_, _, inner) in enumerate(config):
        x = _spread(em, x, axis, inner, value) if inner else x
    around = [(max(low, 0), max(high, 0)) for low, high, _ in config]
    x = _padded(em, x, around, value)
    axes = [axis for axis, (low, high, _) in enumerate(config) if low < 0 or high < 0]
    if not axes:
        return x
    starts = [max(-config[axis][0], 0) for axis in axes]
    ends = [x.shape[axis] - max(-config[axis][1], 0) for axis in axes]
    return em.slice(x, starts, ends, axes, [1] * len(axes))


def _spread(em: Emitter, x: Value, axis: int, inner: int, value: Value) -> Value:
    """With `inner` elements after each of an axis, but the last."""
    before, size, behind = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    wide = _padded(em, em.reshape(x, (*before, size, 1, *behind)), _only(axis + 1, inner, len(x.shape) + 1), value)
    joined = em.reshape(wide, (*before, size * (inner + 1), *behind))
    return em.slice(joined, [0], [size * (inner + 1) - inner], [axis], [1])


def _only(axis: int, behind: int, rank: int) -> list[tuple[int, int]]:
    return [(0, behind if i == axis else 0) for i in range(rank)]


def _padded(em: Emitter, x: Value, around: list[tuple[int, int]], value: Value) -> Value:
    if not any(low or high for low, high in around):
        return x
    shape = tuple(size + low + high for size, (low, high) in zip(x.shape, around, strict=True))
    pads = np.asarray([low for low, _ in around] + [high for _, high in around], np.int64)
    return em.op("Pad", x, pads, em.reshape(value, ()), shape=shape)


@rule("top_k")
def largest(em: Emitter, equation: Equation, *values: Value) -> list[Value]:
    (x,) = whole(em, equation, values)
    axis = equation.params.get("axis", equation.params.get("dimension", -1))
    return _ordered(em, x, axis, equation.params["k"], True, shape_out(equation))


def _ordered(em: Emitter, x: Value, axis: int, count: int, descending: bool, shape: tuple[int, ...]) -> list[Value]:
    """Values in order and, as int32, where they were. Of equal ones the first stays first."""
    results = [(shape, x.dtype), (shape, np.int64)]
    number = np.asarray([count], np.int64)
    found, places = em.many("TopK", x, number, results=results, axis=axis, largest=int(descending), sorted=1)
    return [found, em.cast(places, np.int32)]


@rule("sort")
def sort(em: Emitter, equation: Equation, *values: Value) -> list[Value]:
    if equation.params["num_keys"] != 1:
        raise refuse(f"sorts by {equation.params['num_keys']} keys", "sort by one key")
    keys, *others = whole(em, equation, values)
    axis = equation.params["dimension"]
    found, places = _ordered(em, keys, axis, keys.shape[axis], False, keys.shape)
    return [found, *(_arranged(em, other, places, axis) for other in others)]


def _arranged(em: Emitter, x: Value, places: Value, axis: int) -> Value:
    """What goes with sorted keys; numbers of places are the places themselves."""
    counted = np.expand_dims(np.arange(x.shape[axis]), [a for a in range(len(x.shape)) if a != axis])
    if not isinstance(x, Tensor) and np.array_equal(x, np.broadcast_to(counted, x.shape)):
        return em.cast(places, x.dtype)
    return em.op("GatherElements", x, em.cast(places, np.int64), shape=x.shape, axis=axis)
