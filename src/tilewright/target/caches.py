"""Caches of processors as memories that nobody has to fill: sizes, and what a byte from behind them costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from tilewright.records import dataclass
from tilewright.target.processors import ARM, NATIVE, PROCESSORS, vectors_of

KIB, MIB = 1024, 1024 * 1024
SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux tells of the first processor's caches."""
UNITS = {"K": KIB, "M": MIB}


@dataclass(frozen=True)
class Cache:
    level: int
    bytes: int
    beyond: float
    """Nanoseconds that a layer with windows waits longer for a byte from behind this cache than for one from it."""


@dataclass(frozen=True)
class Caches:
    """The nearest first; the instructions' own is not among them."""

    levels: tuple[Cache, ...]

    @property
    def private(self) -> Cache:
        """The last one before the caches that processors share: what layers fused depth-first stay in."""
        return next((one for one in self.levels if one.level == 2), self.levels[-1])

    def with_prices(self, beyond: Mapping[int, float]) -> Caches:
        """With those that were measured, by the level."""
        return Caches(tuple(replace(one, beyond=beyond.get(one.level, one.beyond)) for one in self.levels))

    def price(self, reach: int) -> float:
        """Nanoseconds for each byte that is needed again after `reach` others, beyond those of a byte in `private`."""
        behind = [one.beyond for one in self.levels if one.level >= self.private.level and reach > one.bytes]
        return sum(behind)


def _caches(first: int, second: int, third: int, beyond_second: float, beyond_last: float) -> Caches:
    """Of so many KiB; 0 where there is no third one, and then memory is behind the second."""
    outer = (Cache(3, third * KIB, beyond_last),) if third else ()
    return Caches((Cache(1, first * KIB, 0.0), Cache(2, second * KIB, beyond_second), *outer))


BY_PROCESSOR = {
    "x86-64-v2": _caches(32, 256, 4096, 0.05, 0.06),
    "x86-64-v3": _caches(32, 512, 8192, 0.05, 0.05),
    "x86-64-v3+avxvnni": _caches(48, 1280, 12288, 0.05, 0.05),
    "x86-64-v4": _caches(48, 1024, 16384, 0.05, 0.05),
    "x86-64-v4+vnni": _caches(48, 1280, 16384, 0.05, 0.05),
    "x86-64-v4+amx": _caches(48, 2048, 32768, 0.05, 0.05),
    "cortex-a53": _caches(32, 512, 0, 0.4, 0.0),
    "cortex-a72": _caches(32, 1024, 0, 0.25, 0.0),
    "cortex-a76": _caches(64, 512, 2048, 0.05, 0.1),
    "neoverse-n1": _caches(64, 1024, 32768, 0.055, 0.03),
    "cortex-a710": _caches(64, 512, 8192, 0.05, 0.08),
    "neoverse-v1": _caches(64, 1024, 32768, 0.055, 0.03),
    "neoverse-n2": _caches(64, 1024, 32768, 0.055, 0.03),
    "neoverse-v2": _caches(64, 2048, 32768, 0.055, 0.03),
    "rv64gc": _caches(32, 512, 0, 0.4, 0.0),
    "rv64gcv": _caches(32, 512, 0, 0.4, 0.0),
    "k230": _caches(32, 256, 0, 0.4, 0.0),
    "spacemit-x60": _caches(32, 512, 0, 0.4, 0.0),
    "x280": _caches(32, 512, 2048, 0.05, 0.1),
}
"""Sizes as they are common, of levels of x86-64 those of small machines that have them. The price behind the level-2
cache was measured on a Neoverse-N1, on depthwise layers of MobileNets whole and in strips; all others are guesses from
bandwidths of memories that such machines have. `tilewright calibrate cpu` measures those of this machine."""


def caches_of(name: str) -> Caches:
    """Of a processor; of this machine's where it is native, as far as the system tells."""
    if name != NATIVE:
        return BY_PROCESSOR[name]
    like = BY_PROCESSOR[_most_like_this()]
    sizes = here()
    known = {one.level: one for one in like.levels}
    if not {1, 2} <= sizes.keys():
        return like
    third = sizes.get(3, 0) // KIB
    last = known[3].beyond if 3 in known else 0.0
    return _caches(sizes[1] // KIB, sizes[2] // KIB, third, known[2].beyond if third else known[2].beyond + last, last)


def _most_like_this() -> str:
    """Of the processors that are known, one with this machine's vectors: the last."""
    here_, found = vectors_of(NATIVE), ["x86-64-v2"]
    found += [name for name in PROCESSORS if vectors_of(name) == here_]
    arm = [name for name in found if PROCESSORS[name].machine == ARM]
    return "neoverse-n1" if "neoverse-n1" in arm else found[-1]


@cache
def here() -> dict[int, int]:
    """Level -> bytes of this machine's caches of data; nothing where the system does not tell."""
    found = {}
    for folder in sorted(SYSTEM.glob("index*")):
        try:
            kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction" and size[-1:] in UNITS and size[:-1].isdigit():
            found[int(level)] = int(size[:-1]) * UNITS[size[-1]]
    return found
