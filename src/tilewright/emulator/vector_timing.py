"""A bound below the cycles of a block on Cortex-M55: what its two halves of a vector unit must take.

A vector instruction takes two cycles, half a vector in each; one that reads or writes memory and one that computes
overlap by a cycle where they follow each other. All others take one. A loop that the core counts itself costs nothing
to close. Waiting for results and memories is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.emulator.counting import BlockCost

REFILL = 2
FLOAT_UNITS = (0xA, 0xB)
SCALAR, MEMORY, COMPUTES, LOOP_END = range(4)


def block_cost(code: bytes) -> BlockCost:
    kinds = list(_kinds(code))
    cycles, before = 0, SCALAR
    for kind in kinds:
        is_vector, overlaps = kind in (MEMORY, COMPUTES), {kind, before} == {MEMORY, COMPUTES}
        cycles += (2 if is_vector else 1) - overlaps - (kind == LOOP_END)
        before = kind
    leaving = 0 if kinds[-1:] == [LOOP_END] else REFILL
    return BlockCost(len(kinds), cycles, leaving, 0, cycles, leaving)


def _kinds(code: bytes) -> Iterator[int]:
    at = 0
    while at + 2 <= len(code):
        first = int.from_bytes(code[at : at + 2], "little")
        size = 4 if first >> 11 in (0b11101, 0b11110, 0b11111) else 2
        yield _kind(first, int.from_bytes(code[at + 2 : at + 4], "little")) if size == 4 else SCALAR
        at += size


def _kind(first: int, second: int) -> int:
    """Of an instruction of two halves."""
    if first & 0xFFC0 == 0xF000 and second & 0xF001 == 0xC001:
        return LOOP_END
    group = first >> 8 & 0xEF
    if group & 0xEC != 0xEC or (group != 0xEF and second >> 8 & 0xF in FLOAT_UNITS):
        return SCALAR
    return MEMORY if group in (0xEC, 0xED) else COMPUTES
