"""A plain SoC of any size: all cores start at the entry point and share one banked memory without latency."""

from __future__ import annotations

from tilewright.sim.platform import Device, Flavour, Group, Kind, Memory, Platform
from tilewright.sim.platform_rules import MAX_CORES


def manycore(
    cores: int, flavour: Flavour = Flavour.XPULPV2, base: int = 0x8000_0000, size: int = 0x40_0000
) -> Platform:
    """The number of banks is twice that of the cores, rounded up to a power of two."""
    banks = 1 << max(4, (2 * min(cores, MAX_CORES) - 1).bit_length())
    return Platform(
        name=f"manycore{cores}",
        summary=f"{cores} cores, {size >> 20} MiB in {banks} banks",
        groups=(Group("core", cores, flavour=flavour, boots=True, local_memory="ram"),),
        memories=(Memory("ram", base, size, banks=banks),),
        devices=(
            Device("soc control", Kind.SOC_CONTROL, 0x1A10_4000, 0x1000),
            Device("stdout", Kind.CONSOLE, 0x1A10_F000, 0x1000),
        ),
    )
