"""What a byte from behind each cache of this machine costs a layer with windows: images of several sizes, one layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.calibration.values import Sample, values
from tilewright.ops.conv import Conv
from tilewright.target.caches import MIB, Caches

CHANNELS, KERNEL = 64, 3
PIXEL = 2 * 4 * CHANNELS
"""Bytes that a pixel reads and writes."""
ROOM = 0.5
"""Of a cache, what a layer may read and write to find all of it there at the next call."""
BEHIND = 4
"""Times as many bytes as a cache has come from behind it."""
MOST = 512 * MIB
"""That a layer reads and writes."""


def sizes(caches: Caches) -> dict[int, tuple[int, int]]:
    """For each level from the private one on: bytes that stay in it, and bytes that come from behind it. A level of
    which both cannot be told apart is left out."""
    outer = [one for one in caches.levels if one.level >= caches.private.level]
    found = {}
    for number, one in enumerate(outer):
        behind = BEHIND * one.bytes
        most = round(ROOM * outer[number + 1].bytes) if number + 1 < len(outer) else MOST
        if behind <= most:
            found[one.level] = (round(ROOM * one.bytes), behind)
    return found


def cache_prices(caches: Caches, time: Callable[[Sample], float]) -> Mapping[int, float]:
    """Nanoseconds for a byte, by the level that it is behind; `time` says how many a layer takes."""
    found = {}
    for level, both in sizes(caches).items():
        inside, behind = (time(layer(size)) / size for size in both)
        found[level] = round(max(behind - inside, 0.0), 4)
    return found


def layer(size: int) -> Sample:
    """A depthwise convolution that reads and writes about so many bytes."""
    side = max(round((size / PIXEL) ** 0.5), KERNEL)
    op = Conv(padding=(KERNEL // 2,) * 4, channels_last=True, groups=CHANNELS)
    return op, [values("float32", 1, side, side, CHANNELS), values("float32", CHANNELS, KERNEL, KERNEL, 1)]
