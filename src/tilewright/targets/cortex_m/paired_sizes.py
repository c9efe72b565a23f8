"""Sizes of what kernels of pairs work on, as their C has them."""

from __future__ import annotations

import math

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES
from tilewright.ops._windows import pair, reach
from tilewright.target.kernel import Types
from tilewright.targets.cortex_m.halves import HalvesConv
from tilewright.targets.cortex_m.paired import WIDE, PairedConv
from tilewright.targets.cortex_m.windows import SIDE, TWO_ROWS, WindowConv
from tilewright.targets.microcontroller.features import PIXELS, WORD, band_pitch

RESULTS_AT_A_TIME = 2560
"""Bytes of a depthwise convolution's results: the band of their rows is copied."""


def panel_bytes(taps: int) -> int:
    """Of some pixels: two taps in a word."""
    return WORD * PIXELS * (-(-taps // 2))


def is_flat(op: PairedConv) -> bool:
    """One tap on every pixel: no band is needed."""
    one_tap = math.prod(op.kernel) == 1 and set(op.conv.strides) == {1} and not any(op.conv.padding)
    return one_tap and not op.image_last


def rows_at_a_time(op: Op, types: Types) -> int:
    """Rows of results from one band: several, where rows have pixels left over that are multiplied one by one."""
    height, width = pair(types["Y"].shape[2:] or (1, 1))
    return min(height, {1: PIXELS, 2: PIXELS // 2}.get(width % PIXELS, 1))


def band_bytes(op: PairedConv, types: Types) -> int:
    """As conv_pairs.c has it: it may begin within a word, and is read and moved by words."""
    conv, channels = op.conv, op.taps({"X": types["X"].shape}) // math.prod(op.kernel)
    (stride, _), (high, _), (dilation, _) = pair(conv.strides), pair(op.kernel), pair(conv.dilations)
    rows = (rows_at_a_time(op, types) - 1) * stride + reach(high, dilation)
    width = (types["Y"].shape[-1] - 1) * conv.strides[-1] + reach(op.kernel[-1], conv.dilations[-1])
    row = -(-width * channels // WORD) * WORD if op.image_last else channels * (-(-width // WORD) * WORD)
    return BYTES[types["X"].dtype] * rows * row + 8 * WORD


def window_rows(op: Op, types: Types) -> int:
    """Rows of results at a time: whole images, or an even number."""
    height, width = types["Y"].shape[2:]
    return min(height, max(TWO_ROWS, RESULTS_AT_A_TIME // max(width, 1) // TWO_ROWS * TWO_ROWS))


def halves_rows(types: Types) -> int:
    """Rows of 16-bit results at a time."""
    height, width = pair(types["Y"].shape[2:])
    return max(1, min(height, RESULTS_AT_A_TIME // BYTES[WIDE] // max(width, 1)))


def halves_band(op: Op, types: Types) -> int:
    """Elements of the band of these rows."""
    found = instance(op, HalvesConv)
    (stride, _), (high, _), (dilation, _) = pair(found.conv.strides), pair(found.kernel), pair(found.conv.dilations)
    rows = (halves_rows(types) - 1) * stride + reach(high, dilation)
    return rows * band_pitch(found.conv, found.kernel, types["Y"].shape[-1])


def window_band(op: Op, types: Types) -> int:
    """The band of some rows, which may begin within a word and is read by words."""
    conv = instance(op, WindowConv).conv
    rows = (window_rows(op, types) - 1) * conv.strides[0] + SIDE
    return rows * band_pitch(conv, (SIDE, SIDE), types["Y"].shape[-1]) + 3 * WORD
