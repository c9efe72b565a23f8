"""How long the cores take to finish what N-EUREKA has left: cycles of the core with most of the work, as measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from tilewright.target.kernel import Types
from tilewright.targets.hwpe.bracketed import Bracketed
from tilewright.targets.hwpe.columns import NeurekaColumns
from tilewright.targets.hwpe.finish import COPY, EXACT, HIGH, MULTIPLIED, NARROW, PLAIN, SCALED, TIES, TOP, WORD
from tilewright.targets.hwpe.op import Neureka

CALL = 365.0
RUN_PIXELS = 6
RUN, RUN_HALVES = 230.0, 500.0
"""Pixels of four filters with one bias, besides the pixels; of results of 16 bits."""
ROW = 12.0
"""Of a run whose rows do not lie one after the other."""
FOUR = {PLAIN: 100.0, HIGH: 36.5, NARROW: 28.5, EXACT: 540.0, SCALED: 41.0, TOP: 18.5, TIES: 118.0}
"""A pixel of four filters."""
FOUR_HALVES = {**FOUR, HIGH: 38.0, EXACT: 605.0}
"""A pixel of four filters with results of 16 bits."""
ONE = {PLAIN: 40.0, HIGH: 85.0, NARROW: 85.0, EXACT: 170.0, SCALED: 90.0, TOP: 85.0, TIES: 30.0}
"""A pixel of one filter, where there are fewer than four."""
ONE_HALVES = {**ONE, HIGH: 13.0}
BY_WORDS = 0.63
"""Of the time of EXACT: results of at most 16 bits whose shift is not that of TensorFlow Lite and not just a word."""
PIXEL = {HIGH: 13.0, TIES: 22.0, EXACT: 110.0, SCALED: 30.0}
"""A filter of the only pixel."""
FEW_PIXELS, PIXEL_RUN = 32, 70.0
"""Pixels of 16-bit results up to which cores go along filters, and what each of them takes besides."""
TURN, REST_PAIR = 45.0, 6.5
"""A run of them, where windows take turns; a filter's products with two words of the row."""
PAIR_BYTES = 8
SHORT, SHORT_SHIFT, SHORT_PIXEL = 3.2, 1.0, 50.0
"""A result of MULTIPLIED, if cores shift it, and a pixel where they do not all lie one after the other."""
COPIED, COPIED_BLOCK, COPIED_WORD, COPIED_BYTE = 25.0, 19.0, 9.0, 7.0
"""A pixel that is copied, 16 bytes of it, then its words and bytes."""
COPIED_RUN, COPIED_NEXT = 60.0, 2.3
"""A row of pixels of at most FEW_BYTES in whole words, each word of a pixel, and each of its neighbours."""
FEW_BYTES = 16

WORD_OF_LINES, PIXEL_OF_LINES = 4.3, 22.0
"""A word of both lines; a pixel where they are not all kept."""
APART, APART_WINDOW, APART_WORD, APART_ROW, APART_TAP = 200.0, 430.0, 4.0, 14.0, 14.0
"""A result for which they differ, of a window in one piece or of several taps; words, rows and taps of a channel."""
UNEVEN = 1.4
"""The core with most of them has so many standard deviations more than the mean."""


def bracket_cycles(op: Bracketed, types: Types, extents: Mapping[str, int], cores: int) -> float:
    walk = cast("Mapping[str, int]", op.geometry(op.tile_types(types, extents)))
    own = walk["images"] * walk["rows"] * walk["columns"] / cores
    is_thinned = walk["source_row"] != walk["columns"] * walk["filters"]
    apart = op.expected * own * walk["filters"]
    most = apart + UNEVEN * math.sqrt(apart) * (cores > 1)
    return CALL + own * (walk["filters"] / 4 * WORD_OF_LINES + is_thinned * PIXEL_OF_LINES) + most * _apart(walk)


def _apart(walk: Mapping[str, int]) -> float:
    """A result that the cores compute again."""
    words, taps = walk["channels"] / 4, walk["taps_h"] * walk["taps_w"]
    if taps == 1:
        return APART + APART_WORD * words
    row = APART_TAP * walk["taps_w"] if walk["channels"] < walk["pixel"] else APART_WORD * words * walk["taps_w"]
    return APART_WINDOW + walk["taps_h"] * (APART_ROW + row)


def finish_cycles(op: Neureka, types: Types, extents: Mapping[str, int], cores: int) -> float:
    local = op.tile_types(types, extents)
    walk = cast("Mapping[str, int]", op.finish_params(local))
    if walk["mode"] == COPY:
        return CALL + _copies(walk, local["Y"].bytes // math.prod(local["Y"].shape[:-1]), cores)
    if walk["mode"] == MULTIPLIED:
        return CALL + _multiplied(walk, cores)
    exact = BY_WORDS if _is_by_words(op, local["Y"].dtype) else 1.0
    if walk["images"] * walk["rows"] * walk["columns"] == 1 and walk["mode"] in PIXEL:
        own = math.ceil(walk["filters"] / cores)
        columns = _columns(op, own) if isinstance(op, NeurekaColumns) else 0.0
        return CALL + exact * PIXEL[walk["mode"]] * own + columns
    is_wide, is_one = local["Y"].dtype == "int16", walk["filters"] < 4
    if is_wide and _has_few_pixels(walk):
        own = math.ceil(walk["images"] * walk["rows"] * walk["filters"] / cores)
        return CALL + PIXEL_RUN * (1 + math.ceil(own / walk["filters"])) + PIXEL[HIGH] * own
    cycles = (ONE_HALVES if is_one else FOUR_HALVES) if is_wide else ONE if is_one else FOUR
    is_whole = is_wide and walk["mode"] == HIGH
    return CALL + _runs(walk, cores, exact * cycles[walk["mode"]], RUN_HALVES if is_whole else RUN)


def _multiplied(walk: Mapping[str, int], cores: int) -> float:
    """tw_finish_multiplied() in C, without what it adds up."""
    pixels, filters = walk["images"] * walk["rows"] * walk["columns"], walk["filters"]
    is_edged = walk["over_right"] or walk["over_bottom"]
    is_dense = walk["columns"] == 1 and walk["source_row"] == filters and not is_edged
    each = SHORT + SHORT_SHIFT * bool(walk["shift"])
    return math.ceil(pixels * filters / cores) * each + (0.0 if is_dense else SHORT_PIXEL * math.ceil(pixels / cores))


def _has_few_pixels(walk: Mapping[str, int]) -> bool:
    """tw_has_few_pixels() in C."""
    is_dense = walk["columns"] == 1 and walk["source_row"] == walk["filters"]
    is_edged = walk["over_right"] or walk["over_bottom"]
    return is_dense and not is_edged and walk["mode"] == HIGH and walk["images"] * walk["rows"] <= FEW_PIXELS


def _columns(op: NeurekaColumns, own: int) -> float:
    """What a core does besides for so many results of windows that take turns."""
    return TURN * (2 + own // op.run) + REST_PAIR * math.ceil(op.rest / PAIR_BYTES) * own


def _is_by_words(op: Neureka, dtype: str) -> bool:
    """Whether 64 bits are computed with word by word: tw_requantise_words() in C."""
    if op.finishing is None or op.finishing.mode != EXACT or dtype == "int32":
        return False
    requant = op.finishing.requant
    return not requant.has_exponents and requant.shift != WORD and 0 < requant.shift < 62


def _copies(walk: Mapping[str, int], pixel: int, cores: int) -> float:
    pixels = math.ceil(walk["images"] * walk["rows"] * walk["columns"] / cores)
    if pixel <= FEW_BYTES and pixel % 4 == 0:
        runs = 1 + pixels / (walk["rows"] if walk["columns"] == 1 else walk["columns"])
        return pixel / 4 * (runs * COPIED_RUN + pixels * COPIED_NEXT)
    blocks, rest = divmod(pixel, 16)
    return pixels * (COPIED + COPIED_BLOCK * blocks + COPIED_WORD * (rest // 4) + COPIED_BYTE * (rest % 4))


def _runs(walk: Mapping[str, int], cores: int, pixel: float, begun: float) -> float:
    filters, rows = walk["filters"], walk["images"] * walk["rows"]
    groups = filters if filters < 4 else math.ceil(filters / 4)
    teams = _teams(groups, rows * walk["columns"], cores)
    own = math.ceil(rows / (cores // teams))
    right, bottom = bool(walk["over_right"]), bool(walk["over_bottom"])
    is_flat = walk["source_row"] == walk["columns"] * walk["source_pixel"] and not right
    run = begun * (1 + right) * (1 + bottom) + (0.0 if is_flat else ROW * own)
    return math.ceil(groups / teams) * (run + own * walk["columns"] * pixel)


def _teams(groups: int, pixels: int, cores: int) -> int:
    """tw_finish_teams() in C."""
    even = 1 if cores & (cores - 1) else groups & -groups
    if groups % cores == 0 or even >= cores:
        return cores
    alone = math.ceil(groups / cores) * (pixels + RUN_PIXELS)
    return cores if alone <= groups // even * (pixels * even // cores + RUN_PIXELS) else even
