"""What the cycles of this target's kernels grow with; and operators to measure that with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops._windows import pair, reach
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.kernel import Types
from tilewright.target.params import params_of
from tilewright.targets.microcontroller.blocked import FILTERS, BlockedConv, packing, plain_conv, taps
from tilewright.targets.microcontroller.blocked_product import BlockedMatMul

PIXELS = 4
"""Of a panel, in C: pixels that are multiplied together."""
WORD = 4
ROWS = 4
"""That meet a block of columns together."""
PANEL_BYTES = 4096
"""Of a matrix that is computed, interleaved."""
TOTALS_AT_A_TIME = 512
"""Of a depthwise convolution, before they are requantised."""
Sample = tuple[Op, list[Array | None]]


# ---- sizes, as the C has them ---------------------------------------------------------------------------------------


def is_flat(op: Op) -> bool:
    """One tap on every pixel: pixels are multiplied where they are."""
    conv = plain_conv(op)
    one_tap = math.prod(instance(op, BlockedConv).kernel) == 1
    return one_tap and set(conv.strides) == {1} and not any(conv.padding)


def band_pitch(conv: Conv, kernel: tuple[int, ...], out_w: int) -> int:
    """tw_band_pitch of row_copy.h."""
    width = (out_w - 1) * conv.strides[-1] + reach(kernel[-1], conv.dilations[-1])
    return -(-width // WORD) * WORD


def depthwise_rows(types: Types) -> int:
    """Rows of results at a time."""
    height, width = pair(types["Y"].shape[2:])
    return max(1, min(height, TOTALS_AT_A_TIME // max(width, 1)))


def depthwise_band(op: Op, types: Types) -> int:
    """Elements of the band of these rows."""
    conv, kernel = cast(Conv, op), types["W"].shape[2:]
    (stride, _), (high, _), (dilation, _) = pair(conv.strides), pair(kernel), pair(conv.dilations)
    rows = (depthwise_rows(types) - 1) * stride + reach(high, dilation)
    return rows * band_pitch(conv, kernel, types["Y"].shape[-1])


def columns_at_a_time(op: Op, types: Types) -> int:
    """Of a matrix that is computed: those that are interleaved together."""
    fields = params_of(op, types)
    inner, columns = (cast(int, fields[name]) for name in ("inner", "columns"))
    held = PANEL_BYTES // max(inner, 1) // FILTERS * FILTERS
    return max(FILTERS, min(-(-columns // FILTERS) * FILTERS, held))


# ---- features -------------------------------------------------------------------------------------------------------


def _results(requant: Requant | None, results: float) -> tuple[float, ...]:
    """By the way from a total to a result: as it is, by the upper word, in two steps, all others."""
    kind = 0 if requant is None else 2 if requant.rounding == Rounding.DOUBLE else 3
    if requant is not None and not requant.has_exponents:
        kind = 1 if requant.shift > 32 else 3
    return tuple(results * (kind == number) for number in range(4))


def conv_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; taps of blocks with 4, 2 and 1 pixels, and those that come as rows of three; blocks; what is gathered
    and copied; results."""
    found, conv = instance(op, BlockedConv), plain_conv(op)
    (batch, filters, *outs), length = types["Y"].shape, taps(op, types)
    (height, width), groups = pair(tuple(outs)), conv.groups
    blocks = groups * batch * -(-(filters // groups) // FILTERS)
    rows, row = (1, height * width) if is_flat(op) else (height, width)
    fours, twos, ones = row // 4, row % 4 // 2, row % 2
    is_direct = not is_flat(op) and found.kernel[-1] == 3 and conv.strides[-1] == 1 and conv.dilations[-1] == 1
    gathered = 0 if is_flat(op) else rows * length * (fours * (not is_direct) + twos + ones)
    banded = 0 if is_flat(op) else rows * (length // found.kernel[-1]) * band_pitch(conv, found.kernel, width)
    return (
        1.0, float(blocks * rows * fours * length * (not is_direct)), float(blocks * rows * twos * length),
        float(blocks * rows * ones * length), float(blocks * rows * fours * length * is_direct),
        float(blocks * rows * (fours + twos + ones)), float(batch * groups * gathered), float(batch * groups * banded),
        float(blocks), *_results(conv.requant, math.prod(types["Y"].shape)),
    )  # fmt: skip


def matmul_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; taps of blocks with 4 rows and with one; blocks; rows that are interleaved; results."""
    inner, columns = types["A"].shape[-1], types["C"].shape[0]
    rows, blocks = types["A"].elements // max(inner, 1), -(-columns // FILTERS)
    fours, ones = rows // ROWS, rows % ROWS
    return (
        1.0, float(fours * blocks * inner), float(ones * blocks * inner), float((fours + ones) * blocks),
        float(fours * inner), *_results(instance(op, BlockedMatMul).requant, rows * columns),
    )  # fmt: skip


def panels_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; matrices; taps of blocks with 4 rows and with one; blocks; what is interleaved of either; results."""
    fields = params_of(op, types)
    rows, inner, columns = (cast(int, fields[name]) for name in ("rows", "inner", "columns"))
    batch = math.prod(cast("tuple[int, ...]", fields["size"]))
    blocks, chunks = -(-columns // FILTERS), -(-columns // columns_at_a_time(op, types))
    fours, ones = rows // ROWS, rows % ROWS
    return (
        1.0, float(batch * chunks), float(batch * fours * blocks * inner), float(batch * ones * blocks * inner),
        float(batch * (fours + ones) * blocks), float(batch * blocks * inner), float(batch * chunks * rows * inner),
        *_results(cast(MatMul, op).requant, batch * rows * columns),
    )  # fmt: skip


def depthwise_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; filters and rows of windows; windows of 3 x 3 one and two elements apart, taps of all others; what is
    copied; results."""
    conv, kernel = cast(Conv, op), types["W"].shape[2:]
    batch, filters, *outs = types["Y"].shape
    height, width = pair(tuple(outs))
    is_3x3 = kernel == (3, 3) and set(conv.dilations) == {1} and conv.strides[-1] <= 2
    results, apart = batch * filters * height * width, conv.strides[-1]
    passes = -(-height // depthwise_rows(types))
    return (
        1.0, float(batch * filters * passes), float(batch * filters * height), float(results * (is_3x3 and apart == 1)),
        float(results * (is_3x3 and apart == 2)), 0.0 if is_3x3 else float(results * math.prod(kernel)),
        float(batch * conv.groups * passes * depthwise_band(op, types)), *_results(conv.requant, results),
    )  # fmt: skip


# ---- samples --------------------------------------------------------------------------------------------------------

REQUANTS = (
    full_range(37, "int8", -3, Rounding.HALF_EVEN), full_range(0, "int8", -3, Rounding.DOUBLE),
    full_range(16, "int8"), None,
)  # fmt: skip
IMAGES = (
    # height, width, channels, filters, kernel, stride
    (8, 8, 16, 16, 3, 1), (8, 8, 3, 8, 3, 1), (12, 12, 3, 16, 3, 2), (6, 6, 32, 32, 3, 1), (5, 9, 8, 12, 3, 1),
    (8, 8, 16, 24, 1, 1), (6, 6, 64, 32, 1, 1), (3, 3, 64, 64, 1, 1), (25, 5, 16, 16, 1, 1), (16, 16, 8, 8, 1, 1),
    (5, 3, 24, 20, 1, 1), (12, 10, 1, 16, 5, 2), (8, 8, 16, 32, 1, 2), (8, 8, 32, 16, 3, 2), (4, 4, 64, 16, 3, 1),
    (10, 10, 4, 6, 3, 1), (4, 30, 1, 8, 3, 2),
)  # fmt: skip
DEEP = (
    # height, width, channels, kernel, stride
    (12, 12, 8, 3, 1), (12, 12, 8, 3, 2), (25, 5, 16, 3, 1), (6, 6, 32, 3, 1), (6, 6, 32, 3, 2), (3, 3, 64, 3, 1),
    (24, 24, 4, 3, 1), (48, 48, 2, 3, 1), (48, 48, 2, 3, 2), (8, 8, 8, 5, 1), (7, 9, 8, 2, 1), (10, 10, 8, 5, 2),
)  # fmt: skip
PRODUCTS = ((1, 64, 12), (1, 128, 128), (1, 640, 64), (4, 64, 32), (16, 48, 48), (7, 32, 20), (32, 16, 16), (1, 8, 128))

BATCHES = (
    (1, 8, 32, 8),
    (4, 16, 16, 16),
    (2, 7, 24, 30),
    (8, 1, 32, 20),
    (1, 32, 8, 40),
    (3, 5, 64, 3),
    (1, 16, 128, 48),
)
"""Matrices, rows, length of the sum, columns."""


def _values(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-50, 50, shape).astype(np.int8)


def _rest(requant: Requant | None, filters: int) -> list[Array | None]:
    """Factors, and what is added or the exponents."""
    if requant is None:
        return []
    if requant.has_exponents:
        return [np.full(filters, (1 << 30) + 12345, np.int32), np.full(filters, -7, np.int32)]
    if requant.shift > 32:
        return [np.full(filters, (1171 << 19) + 1, np.int32)]
    return [np.full(filters, 1171, np.int32), np.full(filters, 1000, np.int32)]


def conv_samples() -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in IMAGES:
        for requant in REQUANTS:
            conv = Conv((stride, stride), padding=(kernel // 2,) * 4, requant=requant)
            weights = packing(1).pack(_values(filters, channels * kernel * kernel))
            starts: list[Array | None] = [np.full(filters, 321, np.int32)]
            op = BlockedConv(filters, (kernel, kernel), conv)
            yield op, [_values(1, channels, height, width), weights, *starts, *_rest(requant, filters)]


def depthwise_samples() -> Iterator[Sample]:
    for height, width, channels, kernel, stride in DEEP:
        for requant in REQUANTS:
            op = Conv((stride, stride), padding=(kernel // 2,) * 4, groups=channels, requant=requant)
            arrays: list[Array | None] = [_values(1, channels, height, width), _values(channels, 1, kernel, kernel)]
            yield op, [*arrays, np.full(channels, 321, np.int32), *_rest(requant, channels)]


def panels_samples() -> Iterator[Sample]:
    for batch, rows, inner, columns in BATCHES:
        for requant, transposed in itertools.product(REQUANTS, (False, True)):
            b = (batch, columns, inner) if transposed else (batch, inner, columns)
            rest = _rest(requant, columns)
            yield MatMul(trans_b=transposed, requant=requant), [_values(batch, rows, inner), _values(*b), None, *rest]


def matmul_samples() -> Iterator[Sample]:
    for rows, inner, columns in PRODUCTS:
        for requant in REQUANTS:
            weights, starts = packing(1).pack(_values(columns, inner)), np.full(columns, 321, np.int32)
            yield BlockedMatMul(requant), [_values(rows, inner), weights, starts, *_rest(requant, columns)]
