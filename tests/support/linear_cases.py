"""Random cases of linear operators and pools, shared by the tests of operators and of kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.checks import Case
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shape, limits
from tilewright.ops._packed import WIDTHS, few_bits
from tilewright.ops._windows import Windowed, reach
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.convweightstep import ConvWeightStep
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.maxpoolgrad import MaxPoolGrad
from tilewright.ops.packedconv import PackedConv
from tilewright.ops.packedmatmul import PackedMatMul

Draw = Callable[[st.SearchStrategy[Any]], Any]

NARROW = ("int8", "uint8")
WIDE = ("int16", "uint16", "int32")


def sizes(low: int = 1, high: int = 4) -> st.SearchStrategy[int]:
    return st.integers(low, high)


def values(draw: Draw, dtype: str, *shape: int) -> Array:
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    if dtype == "float32":
        return random.standard_normal(shape).astype(np.float32)
    low, high = limits(dtype)
    return random.integers(low, high, shape, dtype, endpoint=True)


def requants(draw: Draw) -> Requant:
    dtype = draw(st.sampled_from(["int8", "uint8", "int16", "int32"]))
    low, high = limits(dtype)
    rounding = draw(st.sampled_from(["half_up", "half_even"]))
    return Requant(draw(st.integers(0, 20)), dtype, low, high - 1, draw(st.integers(-3, 3)), rounding)


def factors(draw: Draw) -> tuple[str, str]:
    kind = draw(st.sampled_from(["float", "narrow", "narrow", "wide"]))
    if kind == "float":
        return "float32", "float32"
    choice = st.sampled_from(NARROW if kind == "narrow" else NARROW + WIDE)
    return draw(choice), draw(choice)


def maybe(draw: Draw, make: Callable[[], Array]) -> Array | None:
    return make() if draw(st.booleans()) else None


def zero(draw: Draw, dtype: str) -> int:
    return draw(st.integers(max(-9, limits(dtype)[0]), 9)) if dtype != "float32" else 0


def _window(draw: Draw, rank: int) -> tuple[Shape, Shape, Shape, Shape, Shape]:
    """Strides, dilations, padding, kernel and a spatial size that the window fits into."""
    strides, dilations = draw(_shape(rank, 1, 3)), draw(_shape(rank, 1, 2))
    kernel, padding = draw(_shape(rank, 1, 3)), draw(_shape(2 * rank, 0, 3))
    room = [
        reach(k, d) - padding[i] - padding[rank + i] for i, (k, d) in enumerate(zip(kernel, dilations, strict=True))
    ]
    spatial = tuple(max(1, need) + more for need, more in zip(room, draw(_shape(rank, 0, 5)), strict=True))
    return strides, dilations, padding, kernel, spatial


def _shape(rank: int, low: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(low, high)] * rank)


def _requantised(draw: Draw, dtype: str, mul_shapes: list[Shape]) -> tuple[Requant | None, list[Array | None]]:
    if dtype == "float32" or draw(st.booleans()):
        return None, []
    mul = values(draw, "int16", *draw(st.sampled_from(mul_shapes))).astype(np.int32)
    add = maybe(draw, lambda: values(draw, "int32", *draw(st.sampled_from(mul_shapes))))
    return requants(draw), [mul, add]


def in_either_layout(draw: Draw, op: Windowed, arrays: list[Array | None], images: int = 1) -> Case:
    """The case as it is, or with channels as the last axis of the first operands."""
    if draw(st.booleans()):
        return op, arrays
    moved = [None if a is None else np.ascontiguousarray(np.moveaxis(a, 1, -1)) for a in arrays[:images]]
    return replace(op, channels_last=True), [*moved, *arrays[images:]]


@st.composite
def convs(draw: Draw) -> Case:
    rank = draw(st.sampled_from([1, 2]))
    strides, dilations, padding, kernel, spatial = _window(draw, rank)
    groups, filters = draw(sizes()), draw(sizes(1, 5))
    channels = draw(st.sampled_from([1, 1, 2, 3]))
    x_type, w_type = factors(draw)
    x = values(draw, x_type, draw(sizes(1, 2)), groups * channels, *spatial)
    w = values(draw, w_type, groups * filters, channels, *kernel)
    total = "float32" if x_type == "float32" else "int32"
    shapes: list[Shape] = [(1,), (groups * filters,)]
    bias = maybe(draw, lambda: values(draw, total, *draw(st.sampled_from(shapes))))
    requant, rest = _requantised(draw, x_type, shapes)
    op = Conv(strides, dilations, padding, groups, zero(draw, x_type), zero(draw, w_type), requant)
    return in_either_layout(draw, op, [x, w, bias, *rest], images=2)


@st.composite
def transposed_convs(draw: Draw) -> Case:
    rank = draw(st.sampled_from([1, 2]))
    strides, dilations, padding, kernel, ins = _window(draw, rank)
    groups, filters, channels = draw(sizes(1, 3)), draw(sizes(1, 3)), draw(sizes(1, 3))
    x_type, w_type = factors(draw)
    x = values(draw, x_type, draw(sizes(1, 2)), groups * channels, *ins)
    w = values(draw, w_type, groups * channels, filters, *kernel)
    total = "float32" if x_type == "float32" else "int32"
    shapes: list[Shape] = [(1,), (groups * filters,)]
    bias = maybe(draw, lambda: values(draw, total, *draw(st.sampled_from(shapes))))
    requant, rest = _requantised(draw, x_type, shapes)
    op = ConvTranspose(
        groups, zero(draw, x_type), zero(draw, w_type), requant, strides, dilations, padding[:rank],
        draw(_shape(rank, 1, 9)),
    )  # fmt: skip
    return op, [x, w, bias, *rest]


def _positions(op: Windowed, spatial: Shape, kernel: Shape) -> Shape:
    """How many places the window has along each spatial axis."""
    pads = [op.padding[axis] + op.padding[op.rank + axis] for axis in range(op.rank)]
    walk = zip(spatial, pads, kernel, op.dilations, op.strides, strict=True)
    return tuple((size + pad - reach(taps, dilation)) // stride + 1 for size, pad, taps, dilation, stride in walk)


@st.composite
def conv_input_grads(draw: Draw) -> Case:
    """Of images that need not be as large as the windows reach."""
    rank = draw(st.sampled_from([1, 2]))
    strides, dilations, padding, kernel, outs = _window(draw, rank)
    groups, filters, channels = draw(sizes(1, 3)), draw(sizes(1, 3)), draw(sizes(1, 3))
    g = values(draw, "float32", draw(sizes(1, 2)), groups * filters, *outs)
    w = values(draw, "float32", groups * filters, channels, *kernel)
    before = (*padding[:rank], *(0,) * rank)
    op = ConvInputGrad(strides, dilations, before, groups=groups, size=draw(_shape(rank, 1, 9)))
    return in_either_layout(draw, op, [g, w], images=2)


@st.composite
def conv_weight_grads(draw: Draw) -> Case:
    strides, dilations, padding, kernel, spatial = _window(draw, draw(st.sampled_from([1, 2])))
    groups, filters, channels, batch = draw(sizes(1, 3)), draw(sizes(1, 3)), draw(sizes(1, 3)), draw(sizes(1, 2))
    op = ConvWeightGrad(strides, dilations, padding, groups=groups, kernel=kernel)
    x = values(draw, "float32", batch, groups * channels, *spatial)
    g = values(draw, "float32", batch, groups * filters, *_positions(op, spatial, kernel))
    return in_either_layout(draw, op, [x, g], images=2)


@st.composite
def conv_weight_steps(draw: Draw) -> Case:
    """Also of images of one pixel, and steps of no length down a gradient that is no number."""
    strides, dilations, padding, kernel, spatial = _window(draw, 2)
    if draw(st.booleans()):
        strides, dilations, padding, kernel, spatial = (1, 1), (1, 1), (0,) * 4, (1, 1), (1, 1)
    groups, filters, channels, batch = draw(sizes(1, 3)), draw(sizes(1, 6)), draw(sizes(1, 3)), draw(sizes(1, 2))
    op = ConvWeightStep(strides, dilations, padding, groups=groups, kernel=kernel)
    x = values(draw, "float32", batch, groups * channels, *spatial)
    g = values(draw, "float32", batch, groups * filters, *_positions(op, spatial, kernel))
    rate = np.array([draw(st.sampled_from([0.0, 0.5]))], np.float32)
    if not rate[0]:
        x[:] = np.nan
    return op, [x, g, values(draw, "float32", groups * filters, channels, *kernel), rate]


@st.composite
def max_pool_grads(draw: Draw) -> Case:
    """With few different values, so that windows have several largest elements."""
    strides, dilations, padding, kernel, spatial = _window(draw, draw(st.sampled_from([1, 2])))
    op = MaxPoolGrad(strides, dilations, padding, kernel=kernel)
    batch, channels = draw(sizes(1, 2)), draw(sizes(1, 3))
    x = np.round(values(draw, "float32", batch, channels, *spatial))
    g = values(draw, "float32", batch, channels, *_positions(op, spatial, kernel))
    return in_either_layout(draw, op, [g, x], images=2)


@st.composite
def matmuls(draw: Draw, columns: int = 4) -> Case:
    m, k, n = draw(sizes(1, 6)), draw(sizes(1, 5)), draw(sizes(1, columns))
    batch = draw(st.lists(sizes(1, 3), max_size=2))
    trans_a, trans_b = draw(st.booleans()), draw(st.booleans())
    a_batch, b_batch = _part(draw, batch), _part(draw, batch)
    a_type, b_type = draw(
        st.sampled_from([("int64", "int64"), ("uint32", "uint32")]) | st.builds(lambda: factors(draw))
    )
    a = values(draw, a_type, *a_batch, *((k, m) if trans_a else (m, k)))
    b = values(draw, b_type, *b_batch, *((n, k) if trans_b else (k, n)))
    if draw(st.integers(0, 5)) == 0 and not a_batch:
        a = values(draw, a_type, k)
    if draw(st.integers(0, 5)) == 0 and not b_batch:
        b = values(draw, b_type, k)
    plain = MatMul(trans_a, trans_b)
    (result,) = plain.result_shapes({"A": a.shape, "B": b.shape})
    return _finished(draw, plain, a, b, result)


def _finished(draw: Draw, plain: MatMul, a: Array, b: Array, result: Shape) -> Case:
    a_type, b_type = a.dtype.name, b.dtype.name
    total = a_type if a_type in ("float32", "int64", "uint32") else "int32"
    shape = tuple(draw(st.sampled_from([1, size])) for size in result)[draw(st.integers(0, len(result))) :]
    bias = maybe(draw, lambda: values(draw, total, *shape))
    per: list[Shape] = [(1,)] if result else [()]
    per += [(result[-1],)] if result else []
    per += [(result[-2], 1)] if len(result) > 1 and a.ndim > 1 and b.ndim > 1 else []
    requant, rest = _requantised(draw, "float32" if total != "int32" else "int32", per)
    scales = (0.5, 2.0) if total == "float32" and draw(st.booleans()) else (1.0, 1.0)
    narrow = total == "int32"
    zeros = (zero(draw, a_type), zero(draw, b_type)) if narrow else (0, 0)
    op = MatMul(plain.trans_a, plain.trans_b, *scales, *zeros, requant)
    if draw(st.booleans()):
        return op, [a, b, bias, *rest]
    perms = [draw(st.permutations(range(rank)).map(tuple)) for rank in (a.ndim, b.ndim, len(result))]
    op = replace(op, perm_a=perms[0], perm_b=perms[1], perm_y=perms[2])
    return op, [_stored(a, perms[0]), _stored(b, perms[1]), bias, *rest]


def _stored(array: Array, perm: Shape) -> Array:
    """The array that a Transpose of that order makes this one of."""
    return np.ascontiguousarray(array.transpose(np.argsort(perm)))


def _part(draw: Draw, batch: list[int]) -> tuple[int, ...]:
    """Some of the last axes of a batch, each as it is or of size 1."""
    start = draw(st.integers(0, len(batch)))
    return tuple(draw(st.sampled_from([1, size])) for size in batch[start:])


@st.composite
def max_pools(draw: Draw) -> Case:
    strides, dilations, padding, kernel, spatial = _window(draw, draw(st.sampled_from([1, 2])))
    dtype = draw(st.sampled_from(["float32", "int8", "uint8", "int32", "uint64"]))
    x = values(draw, dtype, draw(sizes(1, 2)), draw(sizes(1, 3)), *spatial)
    return in_either_layout(draw, MaxPool(strides, dilations, padding, kernel), [x])


@st.composite
def average_pools(draw: Draw) -> Case:
    rank = draw(st.sampled_from([1, 2]))
    strides, dilations, padding, kernel, spatial = _window(draw, rank)
    uncounted = tuple(draw(st.integers(0, end)) for end in padding[rank:])
    op = AveragePool(strides, dilations, padding, kernel, draw(st.booleans()), uncounted)
    return in_either_layout(draw, op, [values(draw, "float32", draw(sizes(1, 2)), draw(sizes(1, 3)), *spatial)])


@st.composite
def global_max_pools(draw: Draw) -> Case:
    shape = draw(st.lists(sizes(1, 4), min_size=3, max_size=5))
    return GlobalMaxPool(), [values(draw, draw(st.sampled_from(["float32", "int8", "uint8"])), *shape)]


@st.composite
def global_average_pools(draw: Draw) -> Case:
    shape = draw(st.lists(sizes(1, 4), min_size=3, max_size=5))
    return GlobalAveragePool(), [values(draw, "float32", *shape)]


@st.composite
def normalisations(draw: Draw) -> Case:
    shape = draw(st.lists(sizes(1, 4), min_size=2, max_size=4))
    axis = draw(st.integers(0, len(shape) - 1))
    x, scale, shift, mean, var = (values(draw, "float32", *s) for s in (shape, *[shape[axis : axis + 1]] * 4))
    if draw(st.booleans()):
        return BatchNormalization(axis=axis), [x, scale, shift]
    return BatchNormalization(1e-3, axis), [x, scale, shift, mean, np.abs(var) + np.float32(0.1)]


def packed(draw: Draw, rows: int, length: int) -> tuple[int, int, Array]:
    """Bits, the least weight, and so many rows of codes."""
    bits = draw(st.sampled_from(WIDTHS))
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    return bits, draw(st.integers(-20, 20)), few_bits(bits).pack(random.integers(0, 2**bits, (rows, length)))


@st.composite
def packed_matmuls(draw: Draw) -> Case:
    rows, k, n = draw(st.lists(sizes(1, 4), min_size=1, max_size=3)), draw(sizes(1, 40)), draw(sizes(1, 5))
    a = values(draw, draw(st.sampled_from(NARROW)), *rows, k)
    bits, least, codes = packed(draw, n, k)
    shapes: list[Shape] = [(1,), (n,)]
    bias = maybe(draw, lambda: values(draw, "int32", *draw(st.sampled_from(shapes))))
    requant, rest = _requantised(draw, "int8", shapes)
    return PackedMatMul(bits, least, requant), [a, codes, bias, *rest]


@st.composite
def packed_convs(draw: Draw) -> Case:
    strides, dilations, padding, kernel, spatial = _window(draw, draw(st.sampled_from([1, 2])))
    filters, channels = draw(sizes(1, 5)), draw(sizes(1, 4))
    x_type = draw(st.sampled_from(NARROW))
    x = values(draw, x_type, draw(sizes(1, 2)), channels, *spatial)
    bits, least, codes = packed(draw, filters, channels * int(np.prod(kernel)))
    shapes: list[Shape] = [(1,), (filters,)]
    bias = maybe(draw, lambda: values(draw, "int32", *draw(st.sampled_from(shapes))))
    requant, rest = _requantised(draw, x_type, shapes)
    conv = Conv(strides, dilations, padding, 1, zero(draw, x_type), 0, requant)
    return PackedConv(bits, least, (channels, *kernel), conv), [x, codes, bias, *rest]


CASES: dict[str, st.SearchStrategy[Case]] = {
    "Conv": convs(),
    "ConvTranspose": transposed_convs(),
    "ConvInputGrad": conv_input_grads(),
    "ConvWeightGrad": conv_weight_grads(),
    "ConvWeightStep": conv_weight_steps(),
    "MaxPoolGrad": max_pool_grads(),
    "MatMul": matmuls(),
    "MaxPool": max_pools(),
    "AveragePool": average_pools(),
    "GlobalMaxPool": global_max_pools(),
    "GlobalAveragePool": global_average_pools(),
    "BatchNormalization": normalisations(),
    "PackedMatMul": packed_matmuls(),
    "PackedConv": packed_convs(),
}
