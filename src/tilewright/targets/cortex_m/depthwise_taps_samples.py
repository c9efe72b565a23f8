"""Depthwise convolutions of bytes to measure the kernel of any window with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.targets.cortex_m.depthwise_taps import taps_conv
from tilewright.targets.cortex_m.halves_samples import FROM_BYTES, Sample, in_form

TO_BYTES = full_range(37, "int8", -3, Rounding.HALF_EVEN)
TWICE = full_range(0, "int8", -3, Rounding.DOUBLE)
REQUANTS: tuple[Requant | None, ...] = (TO_BYTES, FROM_BYTES, TWICE, None)
PLANES = (
    # height, width, channels, kernel, stride, dilation
    (12, 12, 8, 5, 1, 1), (6, 6, 24, 5, 1, 1), (3, 3, 48, 5, 1, 1), (12, 12, 16, 5, 2, 1), (24, 24, 3, 5, 2, 1),
    (24, 24, 3, 7, 1, 1), (12, 12, 8, 7, 1, 1), (6, 6, 16, 7, 1, 1), (3, 3, 32, 7, 1, 1), (7, 7, 16, 7, 2, 1),
    (10, 14, 8, 3, 1, 2), (9, 9, 8, 3, 1, 1), (13, 9, 6, 3, 2, 1), (6, 6, 24, 3, 2, 1), (24, 30, 2, 9, 1, 1),
    (16, 16, 4, 11, 1, 1), (14, 10, 8, 5, 3, 1), (1, 100, 8, 9, 1, 1), (1, 60, 16, 31, 1, 1), (48, 48, 2, 5, 1, 1),
    (30, 50, 2, 7, 2, 1), (8, 8, 12, 1, 1, 1),
)  # fmt: skip


def _bytes(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-120, 121, shape).astype(np.int8)


def _scales(requant: Requant | None, filters: int) -> list[Array]:
    if requant is None:
        return []
    if requant.has_exponents:
        return [np.full(filters, (1 << 30) + 12345, np.int32), np.full(filters, -7, np.int32)]
    return [np.full(filters, (1171 << 19) + 1, np.int32)]


def samples() -> Iterator[Sample]:
    for height, width, channels, kernel, stride, dilation in PLANES:
        for requant in REQUANTS:
            high = min(kernel, height) if height == 1 else kernel
            pads = (high // 2 * dilation, kernel // 2 * dilation) * 2
            op = Conv((stride, stride), (dilation, dilation), pads, groups=channels, requant=requant)
            x, w = _bytes(1, channels, height, width), _bytes(channels, 1, high, kernel)
            yield from in_form(taps_conv, op, x, w, np.full(channels, 321, np.int32), *_scales(requant, channels))
