"""What the cycles of sums of products grow with on a core that computes one element at a time, in the units that the C
works in: blocks of pixels, columns and filters are computed whole, however few of them are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ops._windows import pair, reach
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.extents import Extents, product_sizes, up
from tilewright.target.kernel import Features, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import PANEL_ROWS, PIXELS

FILTERS = 4
"""TW_FILTERS of conv_panel.h: filters that a block of pixels meets at a time."""
ROWS = 4
"""TW_ROWS of matmul_blocks.h: rows that meet a block of columns together."""


def stored(requant: Requant | None, results: int) -> tuple[float, ...]:
    """Results by the way from a total to them: as it is, a half rounded up, TensorFlow Lite's, all others."""
    ways = (None, Rounding.HALF_UP, Rounding.DOUBLE)
    way = ways.index(requant.rounding if requant else None) if not requant or requant.rounding in ways else len(ways)
    return tuple(float(results * (way == number)) for number in range(len(ways) + 1))


# ---- convolutions with channels as the second axis ------------------------------------------------------------------


def out_size(extents: Extents) -> tuple[int, int]:
    return extents.get("y", 1), extents["x"]


def band_size(conv: Conv, extents: Extents, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of the input that some rows and columns of a tile's results read."""
    taps = extents.get("r", 1), extents["s"]
    strides, dilations = pair(conv.strides), pair(conv.dilations)
    high, wide = (
        (size - 1) * stride + reach(tap, dilation)
        for size, stride, tap, dilation in zip((rows, columns), strides, taps, dilations, strict=True)
    )
    return high, wide


def conv_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call and its groups; blocks of pixels, with filters, and with each element of those; what is copied into the
    band and its rows, and from there into the panel; weights, which are summed; results."""
    conv, (height, width) = cast(Conv, op), out_size(extents)
    groups, channels, filters = extents["n"] * extents["g"], extents["c"], extents["f"]
    taps = extents.get("r", 1) * extents["s"]
    blocks, meetings = up(height * width, PIXELS), up(filters, FILTERS)
    is_row = taps == 1 and conv.strides[-1] == 1
    one_row = (is_row and not any(conv.padding)) or width >= PIXELS
    rows = 1 if one_row else min(height, up(PIXELS - 1, width) + 1)
    high, wide = band_size(conv, extents, rows, min(PIXELS, height * width) if one_row else width)
    gathered = 0 if is_row and one_row else channels * taps * (1 if one_row else rows)
    return (
        1.0, float(groups), float(groups * blocks), float(groups * blocks * meetings),
        float(groups * blocks * meetings * channels * taps), float(groups * blocks * channels * high),
        float(groups * blocks * channels * high * wide), float(groups * blocks * gathered),
        float(groups * filters * channels * taps), *stored(conv.requant, groups * filters * height * width),
    )  # fmt: skip


def depthwise_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, filters; blocks of pixels and the taps on them; rows; what is copied into the band; results."""
    conv, (height, width) = cast(Conv, op), out_size(extents)
    filters = extents["n"] * extents["g"] * extents["f"]
    high, wide = band_size(conv, extents, height, width)
    is_one_run = set(conv.strides) == {1}
    blocks = up((height - 1) * wide + width, PIXELS) if is_one_run else height * up(width, PIXELS)
    taps = extents.get("r", 1) * extents["s"]
    return (
        1.0, float(filters), float(filters * blocks), float(filters * blocks * taps), float(filters * height),
        float(filters * high * wide), *stored(conv.requant, filters * height * width),
    )  # fmt: skip


# ---- convolutions with channels as the last axis --------------------------------------------------------------------


def channels_last_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, pixels, taps of their windows and elements of these; runs of products and products; results."""
    conv, groups, taps = cast(Conv, op), extents["g"], extents.get("r", 1) * extents["s"]
    pixels = extents["n"] * prod(out_size(extents))
    results, taken = pixels * groups * extents["f"], extents["c"] * taps
    runs = results * (1 if groups == 1 else taps)
    return (
        1.0, float(pixels), float(pixels * taps), float(pixels * groups * taken), float(runs), float(results * taken),
        *stored(conv.requant, results),
    )  # fmt: skip


# ---- matrix products ------------------------------------------------------------------------------------------------


def matmul_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call and its matrices; blocks of columns with four rows and with one, and with each element of these; what is
    copied where columns are no rows of a block, and its rows; elements of rows, which each block sums; results."""
    product = cast(MatMul, op)
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips = matrices * up(columns, PIXELS)
    fours, ones = divmod(rows, ROWS)
    is_panel = columns < PIXELS or params_of(op, types)["b_column"] != 1
    times = fours + (ones > 0) if inner > PANEL_ROWS[types["A"].dtype] else 1
    copied = strips * inner * times if is_panel else 0
    return (
        1.0, float(matrices), float(strips * fours), float(strips * fours * inner), float(strips * ones),
        float(strips * ones * inner), float(copied * min(columns, PIXELS)), float(copied),
        float(strips * rows * inner), *stored(product.requant, matrices * rows * columns),
    )  # fmt: skip


FEATURES: Mapping[str, Features] = {
    "conv_f32": conv_features, "conv_int8": conv_features,
    "conv_channels_last": channels_last_features,
    "depthwise_f32": depthwise_features, "depthwise_int8": depthwise_features,
    "matmul_f32": matmul_features, "matmul_int8": matmul_features,
}  # fmt: skip
"""By the kernel's stem."""
