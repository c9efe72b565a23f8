"""What the cycles of convolutions in pairs grow with."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ops._windows import pair
from tilewright.target.kernel import Types
from tilewright.targets.cortex_m.halves import WAYS as HALVES_WAYS
from tilewright.targets.cortex_m.halves import HalvesConv
from tilewright.targets.cortex_m.paired import PairedConv
from tilewright.targets.cortex_m.paired_product import PairedMatMul
from tilewright.targets.cortex_m.paired_sizes import (
    band_bytes,
    halves_band,
    halves_rows,
    is_flat,
    rows_at_a_time,
    window_band,
    window_rows,
)
from tilewright.targets.cortex_m.ways import FROM_TOTALS, NAMES
from tilewright.targets.cortex_m.windows import SIDE, TWO_ROWS, WAYS, WindowConv
from tilewright.targets.microcontroller.features import PIXELS, ROWS, WORD

PANELS = 4
"""Places that panels come from."""


def conv_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; words of taps for panels of several pixels and of one; panels; what they are made of, from the image,
    three taps of a row, words, single taps; the band; the taps of a call; results by their way, and those that are
    totals."""
    found = instance(op, PairedConv)
    (batch, filters, *outs), groups = types["Y"].shape, found.conv.groups
    (height, width), taps = pair(tuple(outs) or (1, 1)), found.taps({"X": types["X"].shape})
    chunk = height if is_flat(found) else rows_at_a_time(op, types)
    bands, row = batch * groups * -(-height // chunk), chunk * width
    left = row % PIXELS
    several, ones = row // PIXELS + (left == PIXELS - 1), left % (PIXELS - 1)
    words = bands * -(-(filters // groups) // 2) * -(-taps // 2)
    gathered, kind = bands * row * taps, _panels(found, chunk, taps)
    return (
        1.0, float(words * several), float(words * ones), float(bands * (several + ones)),
        *(float(gathered * (kind == number)) for number in range(PANELS)),
        *((0.0, 0.0) if is_flat(found) else (float(bands * band_bytes(found, types)), float(batch * groups * taps))),
        *_results(NAMES, found.way.name, found.conv.requant, math.prod(types["Y"].shape)),
    )  # fmt: skip


def _panels(op: PairedConv, chunk: int, taps: int) -> int:
    """Where panels come from, as in conv_pairs.c: the image, three taps of a row, words of a row, tap by tap."""
    channels, is_dense = taps // math.prod(op.kernel), op.conv.dilations[-1] == 1
    if is_flat(op):
        return 0
    if is_dense and chunk == 1 and not op.image_last and op.kernel[-1] == 3 and op.conv.strides[-1] == 1:
        return 1 if channels % 2 == 0 else PANELS - 1
    return 2 if is_dense and (op.image_last or channels == 1) and op.kernel[-1] * channels >= WORD else PANELS - 1


def window_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; planes; rows that are copied, and their bytes; two rows of results; results two pixels apart, and by
    their way."""
    found = instance(op, WindowConv)
    batch, filters, height, width = types["Y"].shape
    planes, chunk = batch * filters, window_rows(op, types)
    bands, twos = planes * -(-height // chunk), planes * -(-height // TWO_ROWS)
    copied, results = (chunk - 1) * found.conv.strides[0] + SIDE, twos * TWO_ROWS * width
    return (
        1.0, float(planes), float(bands * copied), float(bands * window_band(op, types)), float(twos),
        float(results * (found.conv.strides[0] == 2)), *_by_way(WAYS, found.way, results),
    )  # fmt: skip


def halves_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; filters of bands; rows of results; windows of 3 x 3 and words of all others, four at a time; words of
    single windows; what is copied; results by their way, and those that are totals."""
    found = instance(op, HalvesConv)
    batch, filters, *outs = types["Y"].shape
    (height, width), (high, wide) = pair(tuple(outs)), pair(found.kernel)
    passes, words = batch * -(-height // halves_rows(types)), high * -(-wide // 2)
    rows, is_3x3 = batch * filters * height, found.kernel == (SIDE, SIDE) and found.way.name != FROM_TOTALS.name
    fours, ones = (-(-width // PIXELS), 0) if width >= PIXELS else (0, width)
    return (
        1.0, float(passes * filters), float(rows), float(rows * fours * is_3x3),
        float(rows * fours * words * (not is_3x3)), float(rows * ones * words),
        float(passes * found.conv.groups * halves_band(op, types)),
        *_results(HALVES_WAYS, found.way.name, found.conv.requant, rows * (fours * PIXELS + ones)),
    )  # fmt: skip


def product_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; words of taps for four rows and for one; these; what panels are made of; results by their way, and
    those that are totals."""
    found, inner = instance(op, PairedMatMul), types["A"].shape[-1]
    rows, words = types["A"].elements // max(inner, 1), -(-found.columns // 2) * -(-inner // 2)
    fours, ones = divmod(rows, ROWS)
    return (
        1.0, float(fours * words), float(ones * words), float(fours + ones), float(rows * inner),
        *_results(NAMES, found.way.name, found.requant, rows * found.columns),
    )  # fmt: skip


def _results(ways: tuple[str, ...], taken: str, requant: Requant | None, results: int) -> tuple[float, ...]:
    """Those that are requantised, by their way; those that are not."""
    return (*_by_way(ways, taken if requant is not None else "", results), float(results * (requant is None)))


def _by_way(ways: tuple[str, ...], taken: str, results: int) -> tuple[float, ...]:
    return tuple(float(results * (way == taken)) for way in ways)
