"""Products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright.frontends.jaxpr.emitter import Emitter, Tensor, Value
from tilewright.frontends.jaxpr.rules import Equation, refuse, rule, shape_out, whole
from tilewright.ir.types import Array


@rule("dot_general")
def dot_general(em: Emitter, equation: Equation, *operands: Value) -> Value:
    """Axes in the order batch, rows, summed and batch, summed, columns; then one product of matrices."""
    (left_sum, right_sum), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left, right = _widened(em, equation, *whole(em, equation, operands))
    rows = [axis for axis in range(len(left.shape)) if axis not in (*left_sum, *left_batch)]
    columns = [axis for axis in range(len(right.shape)) if axis not in (*right_sum, *right_batch)]
    batch = [left.shape[axis] for axis in left_batch]
    row_sizes, column_sizes = [left.shape[a] for a in rows], [right.shape[a] for a in columns]
    summed = prod(left.shape[axis] for axis in left_sum)
    a = em.transpose(left, [*left_batch, *rows, *left_sum])
    b = em.transpose(right, [*right_batch, *right_sum, *columns])
    # MatMul takes many rows on its own where there is no batch; elsewhere they become one axis.
    open_rows = row_sizes if not batch and row_sizes else [prod(row_sizes)]
    a = em.reshape(a, (*batch, *open_rows, summed))
    b = em.reshape(b, (*batch, summed, prod(column_sizes)))
    made = em.op("MatMul", a, b, shape=(*batch, *open_rows, prod(column_sizes)), dtype=left.dtype)
    return em.cast(em.reshape(made, shape_out(equation)), equation.outvars[0].aval.dtype)


def _widened(em: Emitter, equation: Equation, *operands: Value) -> list[Value]:
    """Operands of the type that sums are kept in."""
    wide = equation.params.get("preferred_element_type")
    if wide is None or all(value.dtype == wide for value in operands):
        return list(operands)
    return [em.cast(value, wide) for value in operands]


@rule("conv_general_dilated")
def convolution(em: Emitter, equation: Equation, *operands: Value) -> Value:
    numbers, params = equation.params["dimension_numbers"], equation.params
    if params["batch_group_count"] != 1:
        raise refuse(f"batch_group_count is {params['batch_group_count']}", "such convolutions belong to gradients")
    x, w = _widened(em, equation, *whole(em, equation, operands))
    x, w = em.transpose(x, numbers.lhs_spec), em.transpose(w, numbers.rhs_spec)
    shape = tuple(shape_out(equation)[axis] for axis in numbers.out_spec)
    if any(step != 1 for step in params["lhs_dilation"]):
        made = _transposed(em, equation, x, w, shape)
    else:
        made = _plain(em, equation, x, w, shape)
    back = [int(axis) for axis in np.argsort(numbers.out_spec)]
    return em.cast(em.transpose(made, back), equation.outvars[0].aval.dtype)


def _plain(em: Emitter, equation: Equation, x: Value, w: Value, shape: Sequence[int]) -> Value:
    params = equation.params
    pads = [(int(low), int(high)) for low, high in params["padding"]]
    return em.op(
        "Conv", _cropped(em, x, pads), w, shape=tuple(shape), kernel_shape=list(w.shape[2:]),
        strides=list(params["window_strides"]), dilations=list(params["rhs_dilation"]),
        group=params["feature_group_count"],
        pads=[max(low, 0) for low, _ in pads] + [max(high, 0) for _, high in pads],
    )  # fmt: skip


def _cropped(em: Emitter, x: Value, pads: Sequence[tuple[int, int]]) -> Value:
    """Without what padding by negative numbers takes away."""
    if all(low >= 0 and high >= 0 for low, high in pads):
        return x
    starts = [max(-low, 0) for low, _ in pads]
    ends = [size - max(-high, 0) for size, (_, high) in zip(x.shape[2:], pads, strict=True)]
    return em.slice(x, starts, ends, range(2, 2 + len(pads)), [1] * len(pads))


def _transposed(em: Emitter, equation: Equation, x: Value, w: Value, shape: Sequence[int]) -> Value:
    """A convolution over a dilated input: ONNX has it as the transposed one, with the filters turned round."""
    params = equation.params
    if any(step != 1 for step in params["window_strides"]):
        raise refuse("dilates its input and has strides too")
    if isinstance(w, Tensor):
        raise refuse("dilates its input, with filters that are computed", "filters must be constants")
    reach = [step * (size - 1) for step, size in zip(params["rhs_dilation"], w.shape[2:], strict=True)]
    low = [far - int(pad) for far, (pad, _) in zip(reach, params["padding"], strict=True)]
    high = [far - int(pad) for far, (_, pad) in zip(reach, params["padding"], strict=True)]
    if any(pad < 0 for pad in low):
        raise refuse(f"pads a dilated input by {params['padding']}", "pad the result instead")
    return em.op(
        "ConvTranspose", x, _turned(w, params["feature_group_count"]), shape=tuple(shape),
        kernel_shape=list(w.shape[2:]), strides=list(params["lhs_dilation"]), dilations=list(params["rhs_dilation"]),
        group=params["feature_group_count"], pads=low + [max(pad, 0) for pad in high],
        output_padding=[max(-pad, 0) for pad in high],
    )  # fmt: skip


def _turned(w: Array, groups: int) -> Array:
    """Filters (out, in per group, ...) as (in, out per group, ...), flipped."""
    out, inner, *spatial = w.shape
    split = w.reshape(groups, out // groups, inner, *spatial).swapaxes(1, 2)
    merged = split.reshape(groups * inner, out // groups, *spatial)
    return np.ascontiguousarray(np.flip(merged, tuple(range(2, merged.ndim))))
