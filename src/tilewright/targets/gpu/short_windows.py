"""Convolutions of bytes, channels last, whose windows are a few words: without tiles, which would be empty for the most
part. So are the first layers of networks, and products by few channels of large images."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.linear import channels_last
from tilewright.targets.gpu.plain import CONVOLVED

WORD = 4
"""Bytes."""
MOST_WORDS, FILTERS = 16, 8
"""TW_MOST_WORDS and TW_FILTERS in C."""
FEWEST_PIXELS = 2048
"""Of results: smaller images are quicker in tiles."""


def no_short_windows(op: Op, types: Types) -> str | None:
    conv, w = cast(Conv, op), types["W"]
    filters, *_, channels = w.shape
    if conv.groups != 1 or conv.w_zero or w.elements == 0 or types["Y"].elements == 0:
        return "it takes one group of channels, and weights without a zero point"
    if conv.requant is None:
        return "its sums are requantised"
    if channels % WORD or filters % FILTERS:
        return f"it takes channels by {WORD} and filters by {FILTERS}"
    if w.elements // filters > MOST_WORDS * WORD:
        return f"windows have up to {MOST_WORDS * WORD} bytes"
    if types["Y"].elements < FEWEST_PIXELS * filters:
        return f"its results have {FEWEST_PIXELS} pixels or more"
    return channels_last(op, types)


KERNELS = (
    Kernel(
        Conv, "gpu_conv_short.c", CONVOLVED,
        {"X": NARROW, "W": frozenset({"int8"}), "B": frozenset({"int32"}), "Y": NARROW},
        unsupported_reason=no_short_windows, header="conv.h",
    ),
)  # fmt: skip
