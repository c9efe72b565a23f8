"""Where a program has an instruction."""

from __future__ import annotations

from tilewright.sim.program.elf import Elf


def occurrences(elf: Elf, mask: int, match: int) -> int:
    """Places in the functions of a program where a word is the instruction."""
    starts = sorted({address for address, _ in elf.functions})
    ends = [*starts[1:], max(one.address + len(one.data) for one in elf.segments)]
    return sum(_in_code(_bytes(elf, start, end), mask, match) for start, end in zip(starts, ends, strict=True))


def _bytes(elf: Elf, start: int, end: int) -> bytes:
    held = (one for one in elf.segments if one.address <= start < one.address + len(one.data))
    return next((one.data[start - one.address : end - one.address] for one in held), b"")


def _in_code(code: bytes, mask: int, match: int) -> int:
    """Instructions have two or four bytes."""
    found, at = 0, 0
    while at + 2 <= len(code):
        word = int.from_bytes(code[at : at + 4], "little")
        is_long = word & 3 == 3
        found += is_long and word & mask == match
        at += 4 if is_long else 2
    return found
