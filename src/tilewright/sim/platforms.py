"""The platforms that come with tilewright, by name."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.errors import CompileError
from tilewright.sim.cv32e40p import CV32E40P
from tilewright.sim.manycore import manycore
from tilewright.sim.mempool import ITAPOOL, MEMPOOL, MINPOOL
from tilewright.sim.microcontroller import MICROCONTROLLER
from tilewright.sim.platform import Flavour, Platform
from tilewright.sim.platform_rules import MAX_CORES
from tilewright.sim.quad import QUAD
from tilewright.sim.siracusa import SIRACUSA
from tilewright.sim.snitch import SNITCH

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
