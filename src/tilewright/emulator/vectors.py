"""Where a program has its vector table: the first words that a core reads."""

from __future__ import annotations

from tilewright.sim.program.elf import Elf

SYMBOL = "tw_vectors"


def vectors_address(elf: Elf) -> int:
    """Of our programs by name; others have it at their start."""
    return elf.symbols.get(SYMBOL, min(segment.load_address for segment in elf.segments if segment.data))
