"""What the cycles of depthwise convolutions grow with: work of the core that has most, in the units of the C."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops.conv import Conv
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Types
from tilewright.targets.pulp.conv_features import inside_share, taps_of
from tilewright.targets.pulp.depthwise_planes import Planes, pitch_of
from tilewright.targets.pulp.requant_ways import is_exact, is_high_word, is_looked_at

LEAST_DOWN = 5
"""Rows of results from which on planes are walked down: TW_LEAST_DOWN of depthwise_down.h."""


def planes_of(conv: Conv, types: Types, extents: Extents, cores: int) -> Planes:
    stride, dilation = (values[0] if len(values) > 1 else 1 for values in (conv.strides, conv.dilations))
    before = conv.padding[len(conv.strides) - 1]
    pitch = pitch_of(extents.get("x", 1), conv.strides[-1], extents.get("s", 1), before + row_of(conv, types, extents))
    reach = (extents.get("r", 1) - 1) * dilation + 1
    return Planes(extents["n"] * up(extents["g"], 4), extents.get("y", 1), stride, reach, pitch, cores)


def row_of(conv: Conv, types: Types, extents: Extents) -> int:
    """Pixels of the image's row that a tile reads, about."""
    width = extents.get("x", 1)
    return types["X"].shape[-2] if width == types["Y"].shape[-2] else width * conv.strides[-1]


@dataclass(frozen=True)
class Pieces:
    """Of the core that has most."""

    own: int
    """Pieces of four channels."""
    lines: int
    """Rows of results of four channels."""
    read: int
    """Rows of their input."""
    filled: int
    """Bytes of a plane."""
    fours: int
    """Of a row of the input, four pixels at a time."""
    rest: int
    """Pixels that are left of it."""


def pieces_of(conv: Conv, types: Types, extents: Extents, cores: int, planes: Planes) -> Pieces:
    strips = up(planes.height, planes.rows)
    own = up(planes.quads * strips, cores)
    # The last strip may be a short one: a core does not have more than all there is.
    lines = min(own * planes.rows, planes.quads * planes.height)
    # Rows beyond the image are not loaded.
    is_whole = strips == 1 and any(conv.padding) and prod(types["Y"].shape[1:-1]) == planes.height * extents.get("x", 1)
    read = lines * planes.stride + (0 if is_whole else own * (planes.reach - planes.stride))
    filled = planes.pitch * planes.input_rows(planes.rows)
    return Pieces(own, lines, read, filled, *divmod(row_of(conv, types, extents), 4))


def depthwise_features(op: Op, types: Types, extents: Extents, cores: int, *, all_cores: int) -> tuple[float, ...]:
    """The call, words that planes are filled with; pieces of four channels, those whose requantisation is looked at,
    and of their input four pixels at a time and those left of them; turns of outer loops, pairs of results and results
    alone, and the same of planes that are walked down; where filters are not of three rows the rows and words of taps;
    results that are requantised in 64 bits, and by the high words of products."""
    conv = cast(Conv, op)
    planes, taps, width = planes_of(conv, types, extents, all_cores), extents.get("s", 1), extents.get("x", 1)
    work = pieces_of(conv, types, extents, cores, planes)
    own, lines = work.own, work.lines
    requant, exact = conv.requant, is_exact(conv.requant, types)
    looked_at = own * is_looked_at(requant)
    is_fast = extents.get("r", 1) == 3 and taps <= 4 and requant is not None and not exact
    is_high = is_fast and is_high_word(requant, types)
    pairs = width // 2 if conv.strides[-1] == 1 and taps <= 3 else 0
    alone = width - 2 * pairs
    is_down = set(conv.strides) == {1} and planes.reach == 3 and planes.rows >= LEAST_DOWN and not is_high
    turns = pairs + alone if is_down else min(planes.rows, pairs) + min(planes.rows, alone)
    walk = float(own * turns), float(lines * pairs), float(lines * alone)
    across, down = (walk if is_fast and is_down == way else (0.0, 0.0, 0.0) for way in (False, True))
    words = 0.0 if is_fast else float(lines * width * extents.get("r", 1) * up(taps, 4))
    return (
        1.0, float(work.filled), float(own), float(looked_at), float(work.read * work.fours),
        float(work.read * work.rest), *across, *down,
        0.0 if is_fast else float(lines), words, float(lines * width) * exact, float(lines * width) * is_high,
    )  # fmt: skip


def windows_features(op: Op, types: Types, extents: Extents, cores: int, *, all_cores: int) -> tuple[float, ...]:
    """The call, bytes that planes are filled with; pieces of four channels, those whose requantisation is looked at,
    and of their input four pixels at a time and those left of them; rows of results, pairs of results and their rows of
    taps, results alone and their rows of taps, a word or two each; results of 16 bits; the words of taps of those
    that are requantised in 64 bits, and those results."""
    conv = cast(Conv, op)
    planes, taps, width = planes_of(conv, types, extents, all_cores), extents.get("s", 1), extents.get("x", 1)
    work, rows = pieces_of(conv, types, extents, cores, planes), extents.get("r", 1)
    is_fast = not is_exact(conv.requant, types) or (types["Y"].dtype == "int16" and "add" not in types)
    pairs = width // 2 if conv.strides[-1] == 1 and 4 < taps < 8 else 0
    alone = width - 2 * pairs
    ones, twos = (alone * (words == up(taps, 4)) for words in (1, 2))
    quick = (float(work.lines * count) * is_fast for count in (1, pairs, pairs * rows, alone, ones * rows, twos * rows))
    slow = work.lines * width * (not is_fast)
    return (
        1.0, float(work.filled), float(work.own), float(work.own * is_looked_at(conv.requant)),
        float(work.read * work.fours), float(work.read * work.rest), *quick,
        float(work.lines * width * (types["Y"].dtype == "int16")), float(slow * rows * up(taps, 4)), float(slow),
    )  # fmt: skip


def float_depthwise_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows of one channel, windows of 3 x 3 in the image, and where cores share floating point units; other
    windows and their taps."""
    conv = cast(Conv, op)
    own = up(extents["n"] * extents["g"] * extents.get("y", 1), cores)
    windows = own * extents.get("x", 1)
    is_three = extents.get("r", 1) == 3 and extents.get("s", 1) == 3
    some = windows * inside_share(conv, types, 0) * inside_share(conv, types, 1) if is_three else 0.0
    shared = some if cores > 1 else 0.0
    return 1.0, float(own), some, shared, windows - some, (windows - some) * taps_of(extents)
