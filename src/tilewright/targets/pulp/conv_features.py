"""What the cycles of convolutions and pools grow with: work of the core that has most, in the units of the C."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops.conv import Conv
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Types
from tilewright.targets.pulp.conv_strips import Strips, is_pointwise, padded_bytes, strips_of
from tilewright.targets.pulp.requant_ways import is_high_word, is_looked_at, is_one_by_one

GATHERED_BYTES = 2048
"""Of windows at a time, for each core."""


def pixels_of(extents: Extents) -> int:
    return extents["n"] * extents.get("y", 1) * extents.get("x", 1)


def taps_of(extents: Extents) -> int:
    return extents.get("r", 1) * extents.get("s", 1)


def is_fair(count: int, cores: int) -> bool:
    return count % cores == 0 or count >= 6 * cores


@dataclass(frozen=True)
class Dealt:
    """What the core with most of a convolution has of each group."""

    blocks: int
    """Of four pixels and four filters."""
    strips: int
    """Of such blocks, one after the other."""
    windows: int
    """That it gathers."""


def deal_out(pixels: int, quads: int, chunk: int, cores: int) -> Dealt:
    """As deal_out() in C; `chunk` is how many windows a core gathers at a time."""
    blocks = up(pixels, 4)
    if is_fair(quads, cores):
        own = up(quads, cores)
        return Dealt(blocks * own, own * up(pixels, cores * chunk), up(pixels, cores))
    if is_fair(blocks, cores):
        own = up(blocks, cores)
        return Dealt(own * quads, quads * up(4 * own, chunk), 4 * own)
    parts = min(quads, cores)
    units = up(blocks * parts, cores)
    return Dealt(units * up(quads, parts), units * up(quads, parts), 4 * units)


def gathered_at_once(length: int) -> int:
    """How many windows of so many bytes a core gathers at a time: whole blocks of four."""
    return max(4, min(16, GATHERED_BYTES // length // 4 * 4))


def deal_strips(strips: Strips, cores: int) -> Dealt:
    """As strips() in C; windows are pieces of rows."""
    across, quads = up(strips.width, strips.pixels), strips.quads
    pieces = strips.lines * across
    parts = next((n for n in range(1, quads) if is_fair(pieces * n, cores) and quads % n == 0), quads)
    units = up(pieces * parts, cores)
    return Dealt(units * quads // parts * up(strips.pixels, 4), units * quads // parts, units)


def conv_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call; strips and blocks of four pixels and filters, those that are requantised, their words and what is left
    of them; results alone, those that are requantised, and their words; what window_features has; filters prepared,
    those whose requantisation is looked at and their words, and words of copies of filters; results that are
    requantised in 64 bits, and blocks by the high words of products; of windows that are left in the image the runs,
    rows copied and words."""
    # As a tile has it, of whose layer `op` is.
    conv = replace(cast(Conv, op), groups=extents["g"])
    groups, filters, rows = extents["g"], extents["f"], extents.get("r", 1)
    pixels, length, quads = pixels_of(extents), extents["c"] * taps_of(extents), up(filters, 4)
    as_matrix = is_pointwise(conv, taps_of(extents), extents["c"])
    window = (rows, extents.get("s", 1), extents["c"], filters)
    strips = strips_of(conv, extents["n"] * extents.get("y", 1), extents.get("x", 1), *window)
    dealt = deal_strips(strips, cores) if strips else deal_out(pixels, quads, gathered_at_once(length), cores)
    words = length // 4 if as_matrix else strips.run * rows if strips else up(length, 4)
    alone = float(4 * dealt.blocks * filters * groups) if filters < 4 or pixels < 4 else 0.0
    some = 0.0 if alone else float(dealt.blocks * groups)
    is_requantised = conv.requant is not None
    windows = 0 if as_matrix or strips else dealt.windows * groups
    copied = float(dealt.windows * rows) if strips and not strips.is_inside else 0.0
    prepared = up(groups * quads, cores)
    looked_at = float(prepared * is_looked_at(conv.requant))
    filled = up(groups * filters, cores) * words if (extents["c"] if strips else length) % 4 else 0
    return (
        1.0, float(dealt.strips * groups), some, some * is_requantised, some * words, some * (length % 4) * as_matrix,
        alone, alone * is_requantised, alone * words, *window_features(conv, types, extents, windows, cores),
        float(prepared), looked_at, looked_at * words, float(filled),
        (16 * some + alone) * is_one_by_one(conv.requant, conv.w_zero, types),
        some * is_high_word(conv.requant, types), some * rows if strips else 0.0, copied,
        copied * strips.copied_words(strips.pixels) if strips else 0.0,
    )  # fmt: skip


def window_features(conv: Conv, types: Types, extents: Extents, windows: int, cores: int) -> tuple[float, ...]:
    """Of windows that are gathered: those within the image, their rows that are no single words and words of rows;
    others and their taps; words of an image that is copied with its padding, which then has all windows within it."""
    height, width, rows, taps = (extents.get(loop, 1) for loop in "yxrs")
    padded = padded_bytes(conv, extents["n"], (height, width), (rows, taps), extents["c"])
    run = extents["c"] * taps
    share = 1.0 if padded else prod(inside_share(conv, types, axis) for axis in range(len(conv.strides)))
    has_runs = extents["g"] == 1 and (conv.dilations[-1] == 1 or taps == 1)
    within = windows * share * has_runs
    return (
        within, within * rows * (run != 4), within * rows * up(run, 4), windows - within,
        (windows - within) * rows * taps, up(padded, 4) / cores * (windows > 0),
    )  # fmt: skip


def float_conv_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, blocks of four pixels and filters, rows of their windows, products, and where cores share adders; of
    rows that are copied, as they are no runs of the image, the taps and elements."""
    columns = extents["g"] * up(extents["f"], 4)
    blocks = up(up(pixels_of(extents), 4) * columns, cores)
    rows, row = blocks * extents.get("r", 1), extents.get("s", 1)
    products = float(rows * row * extents["c"])
    shared = products if cores > 1 else 0.0
    copied = copied_windows(cast(Conv, op), types, extents, blocks) * extents.get("r", 1) * row
    return 1.0, float(blocks), float(rows), products, shared, copied, copied * extents["c"]


def copied_windows(conv: Conv, types: Types, extents: Extents, blocks: int) -> float:
    """Windows of a core whose rows have gaps, or reach beyond the image to the left or right: of a long image, those
    at one end are all in few cores."""
    columns, axis = extents["g"] * up(extents["f"], 4), len(conv.strides) - 1
    if extents["g"] > 1 or conv.dilations[axis] > 1:
        return 4.0 * blocks
    left, right, count = outside(conv, types, axis)
    if 4 * blocks >= extents.get("x", 1) * columns:
        return 4.0 * blocks * (left + right) / count
    # The last block repeats its last pixel until it has four.
    most = max(left, right + -count % 4 if right else 0)
    return float(min(blocks * min(most, 4), most * columns))


def inside_share(conv: Conv, types: Types, axis: int) -> float:
    """The part of a layer's windows that do not reach beyond the image along an axis."""
    left, right, count = outside(conv, types, axis)
    return max(count - left - right, 0) / count


def outside(conv: Conv, types: Types, axis: int) -> tuple[int, int, int]:
    """Of a layer's windows along an axis, those that begin before the image, those that only end behind it, and all."""
    (size, count), taps = (types[name].shape[1 + axis] for name in "XY"), types["W"].shape[1 + axis]
    stride, before, reach = conv.strides[axis], conv.padding[axis], (taps - 1) * conv.dilations[axis]
    left = min(up(before, stride), count)
    return left, count - max(left, min(up(max(size - reach + before, 0), stride), count)), count


def pool_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, pixels, taps of their windows, and of these eight channels at a time and those left of them."""
    channels, taps = extents["c"], extents.get("r", 1) * extents["s"]
    pixels = up(prod(extents.values()) // (channels * taps), cores)
    whole, rest = divmod(channels, 8)
    return 1.0, float(pixels), float(pixels * taps), float(pixels * taps * whole), float(pixels * taps * rest)
