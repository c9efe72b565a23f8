"""The platforms that come with tilewright, by name."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.errors import CompileError
from tilewright.sim.platform import Flavour, Platform
from tilewright.sim.platform_rules import MAX_CORES
from tilewright.sim.platforms.cv32e40p import CV32E40P
from tilewright.sim.platforms.manycore import manycore
from tilewright.sim.platforms.mempool import ITAPOOL, MEMPOOL, MINPOOL
from tilewright.sim.platforms.microcontroller import MICROCONTROLLER
from tilewright.sim.platforms.quad import QUAD
from tilewright.sim.platforms.siracusa import SIRACUSA
from tilewright.sim.platforms.snitch import SNITCH
from tilewright.sim.program.elf import Elf, allocated_ranges

PLATFORMS = {
    "siracusa": SIRACUSA,
    "quad": QUAD,
    "cv32e40p": CV32E40P,
    "corev": manycore(1, Flavour.COREV),
    "rv32": manycore(1),
    "microcontroller": MICROCONTROLLER,
    "snitch": SNITCH,
    "mempool": MEMPOOL,
    "minpool": MINPOOL,
    "itapool": ITAPOOL,
    "manycore64": manycore(64),
}


def find_platform(name: str | Platform, others: Collection[str] = ()) -> Platform:
    """A platform of the table, or manycore<n> with any number of cores; a description stands for itself. An error names
    others too, which the caller knows."""
    if isinstance(name, Platform):
        return name
    cores = name.removeprefix("manycore")
    if name != cores and cores.isdecimal() and 1 <= int(cores) <= MAX_CORES:
        return manycore(int(cores))
    if name not in PLATFORMS:
        hint = f"there are: {', '.join(sorted([*PLATFORMS, *others]))}, and manycore1 to manycore{MAX_CORES}"
        raise CompileError(name, "is not a platform", hint)
    return PLATFORMS[name]


def check_cores(platform: Platform, elf: Elf) -> None:
    """A program says of itself whether it has compressed instructions or floats; not all cores do."""
    if missing := _missing(platform, elf):
        hint = other_platforms(platform, elf) + "build it with the instructions of these cores"
        raise CompileError(elf.path, f"is built for cores with {missing}, which those of {platform.name} lack", hint)


def other_platforms(platform: Platform, elf: Elf) -> str:
    """Those that a program may be for instead, as the beginning of a hint."""
    fitting = [name for name, p in PLATFORMS.items() if p.name != platform.name and _fits(p, elf)]
    return f"is it for {' or '.join(fitting)}? Or " if fitting else ""


def _missing(platform: Platform, elf: Elf) -> str:
    group = next(group for group in platform.groups if group.boots)
    if elf.is_compressed and group.flavour in (Flavour.SNITCH, Flavour.MEMPOOL):
        return "compressed instructions"
    return "floating point" if elf.has_floats and not any(group.has_float for group in platform.groups) else ""


def _fits(platform: Platform, elf: Elf) -> bool:
    """By all that it takes of memories, also what is not loaded."""
    ranges = [*allocated_ranges(elf), *((s.load_address, s.load_address + s.size) for s in elf.segments)]
    memories = [(m.base, m.base + m.size) for m in platform.memories]
    inside = all(any(base <= start and end <= limit for base, limit in memories) for start, end in ranges)
    return inside and not _missing(platform, elf)
