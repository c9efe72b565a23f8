"""Source lines of addresses, from the program's debug information."""

from __future__ import annotations

from tilewright.sim.elf import Elf


def source_line(elf: Elf, address: int) -> str:
    """`file:line`, or nothing."""
    return ""
