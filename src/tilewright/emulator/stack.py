"""The stack of a program, by the symbols that every board's start-up has."""

from __future__ import annotations

from tilewright.sim.program.elf import Elf

STACK = "tw_stack_start", "tw_stack_end"


def stack_of(elf: Elf) -> tuple[int, int] | None:
    """Where it begins and ends, if the program says."""
    start, end = (elf.symbols.get(name) for name in STACK)
    return None if start is None or end is None else (start, end)
