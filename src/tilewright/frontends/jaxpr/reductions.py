"""Sums, maxima and the like: over axes, over windows, and running."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tilewright.frontends.jaxpr.emitter import Emitter, Value
from tilewright.frontends.jaxpr.rules import Equation, refuse, rule, shape_in, shape_out, whole

REDUCTIONS = {
    "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin", "reduce_prod": "ReduceProd"
}  # fmt: skip
LOGICAL = {"reduce_and": "ReduceMin", "reduce_or": "ReduceMax"}
ARGUMENTS = {"argmax": "ArgMax", "argmin": "ArgMin"}


@rule(*REDUCTIONS)
def reduce(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    return _reduced(em, REDUCTIONS[equation.primitive.name], x, equation)


@rule(*LOGICAL)
def reduce_logical(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    if x.dtype != np.bool_:
        raise refuse("works on bits of integers")
    numbers = em.cast(x, np.int32)
    return em.cast(_reduced(em, LOGICAL[equation.primitive.name], numbers, equation), np.bool_)


def _reduced(em: Emitter, kind: str, x: Value, equation: Equation) -> Value:
    axes = np.asarray(equation.params["axes"], np.int64)
    if not axes.size:
        return x
    return em.op(kind, x, axes, shape=shape_out(equation), keepdims=0)


@rule(*ARGUMENTS)
def argument(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    (axis,) = equation.params["axes"]
    if x.dtype == np.bool_:
        x = em.cast(x, np.int32)
    kind = ARGUMENTS[equation.primitive.name]
    found = em.op(kind, x, shape=shape_out(equation), dtype=np.int64, axis=axis, keepdims=0)
    return em.cast(found, equation.params["index_dtype"])


@rule("reduce_window_max")
def window_max(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    return _pooled(em, equation, x, _max_pool)


@rule("reduce_window_min")
def window_min(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    return em.elementwise("Neg", _pooled(em, equation, em.elementwise("Neg", x), _max_pool))


@rule("reduce_window_sum")
def window_sum(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    found = _pooled(em, equation, x, _average_pool)
    count = prod(equation.params["window_dimensions"])
    return em.elementwise("Mul", found, np.asarray(count, found.dtype))


def _max_pool(em: Emitter, x: Value, shape: tuple[int, ...], **attributes: Any) -> Value:
    return em.op("MaxPool", x, shape=shape, **attributes)


def _average_pool(em: Emitter, x: Value, shape: tuple[int, ...], **attributes: Any) -> Value:
    return em.op("AveragePool", x, shape=shape, count_include_pad=1, **attributes)


def _pooled(em: Emitter, equation: Equation, x: Value, pool: Callable[..., Value]) -> Value:
    """Axes without windows go first, as ONNX wants them: all of them together, and the spatial ones behind."""
    params = equation.params
    if any(step != 1 for step in params["base_dilation"]):
        raise refuse("dilates its input")
    if x.dtype.kind != "f":
        raise refuse(f"pools {x.dtype.name}", "convert the values to floats first")
    moving = [axis for axis, _ in enumerate(x.shape) if _has_window(params, axis)]
    if not moving:
        return x
    still = [axis for axis in range(len(x.shape)) if axis not in moving]
    order = [*still, *moving]
    sizes = [shape_out(equation)[axis] for axis in order]
    lead = prod(sizes[: len(still)])
    spatial, pads = em.transpose(x, order), [params["padding"][axis] for axis in moving]
    pooled = pool(
        em, em.reshape(spatial, (1, lead, *spatial.shape[len(still) :])), (1, lead, *sizes[len(still) :]),
        kernel_shape=[params["window_dimensions"][axis] for axis in moving],
        strides=[params["window_strides"][axis] for axis in moving],
        dilations=[params["window_dilation"][axis] for axis in moving],
        pads=[int(low) for low, _ in pads] + [int(high) for _, high in pads],
    )  # fmt: skip
    return em.transpose(em.reshape(pooled, tuple(sizes)), [int(axis) for axis in np.argsort(order)])


def _has_window(params: Any, axis: int) -> bool:
    plain = params["window_dimensions"][axis] == 1 and params["window_strides"][axis] == 1
    return not plain or tuple(params["padding"][axis]) != (0, 0)


@rule("cumsum")
def running_sum(em: Emitter, equation: Equation, *values: Value) -> Value:
    (x,) = whole(em, equation, values)
    axis, backward = equation.params["axis"], int(equation.params["reverse"])
    return em.op("CumSum", x, np.asarray(axis, np.int64), shape=x.shape, reverse=backward)


@rule("cummax", "cummin", "cumprod")
def running(em: Emitter, equation: Equation, *values: Value) -> Value:
    """In as many steps as the size has bits: each element with the one 1, 2, 4, ... before it."""
    (x,) = whole(em, equation, values)
    kind = {"cummax": "Max", "cummin": "Min", "cumprod": "Mul"}[equation.primitive.name]
    axis, step = equation.params["axis"], 1
    while step < shape_in(equation)[axis]:
        x = _with_shifted(em, kind, x, axis, step, bool(equation.params["reverse"]))
        step *= 2
    return x


def _with_shifted(em: Emitter, kind: str, x: Value, axis: int, step: int, backward: bool) -> Value:
    size = x.shape[axis]
    edge = em.slice(x, [size - step if backward else 0], [size if backward else step], [axis], [1])
    here = em.slice(x, [0 if backward else step], [size - step if backward else size], [axis], [1])
    other = em.slice(x, [step if backward else 0], [size if backward else size - step], [axis], [1])
    made = em.elementwise(kind, here, other)
    return em.op("Concat", *((made, edge) if backward else (edge, made)), shape=x.shape, axis=axis)
