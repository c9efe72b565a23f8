"""Bytes of stack that functions of a linked RISC-V program take, with all that they call by name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewright.sim.program.elf import Elf

STACK_POINTER, CALL_PAIR, JUMP, JUMP_TO_REGISTER = 2, 0x17, 0x6F, 0x67


@dataclass
class Function:
    name: str
    frame: int = 0
    calls: set[str] = field(default_factory=set)


def depths(elf: Elf) -> dict[str, int]:
    found = {name: Function(name) for _, name in elf.functions}
    starts = [start for start, _ in elf.functions]
    for segment in elf.segments:
        pairs: dict[int, int] = {}
        for at, word in _instructions(segment.data):
            place = segment.address + at
            if place < starts[0]:
                continue
            own = found[elf.functions[bisect_right(starts, place) - 1][1]]
            own.frame += _grown(word)
            target = _target(word, place, pairs)
            if target is not None and starts[0] <= target:
                own.calls.add(elf.functions[bisect_right(starts, target) - 1][1])
    return {name: _depth(name, found, ()) for name in found}


def _depth(name: str, found: dict[str, Function], above: tuple[str, ...]) -> int:
    """A jump within a function is no call; a function that comes back to itself has no bound."""
    inner = found[name].calls - {name}
    assert not inner & {*above}, f"{name} is recursive"
    return found[name].frame + max((_depth(callee, found, (*above, name)) for callee in inner), default=0)


def _instructions(code: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at + 2 <= len(code):
        size = 4 if code[at] & 3 == 3 else 2
        yield at, int.from_bytes(code[at : at + size], "little")
        at += size


def _grown(word: int) -> int:
    """By how much an instruction moves the stack pointer down: addi, c.addi and c.addi16sp."""
    change = 0
    if word & 3 == 3:
        if word & 0xFFFFF == 0x13 | STACK_POINTER << 7 | STACK_POINTER << 15:
            change = _signed(word >> 20, 12)
    elif word & 0xEF83 == 0x0001 | STACK_POINTER << 7:
        change = _signed(_bits(word, (12, 5), (6, 4), (5, 3), (4, 2), (3, 1), (2, 0)), 6)
    elif word & 0xEF83 == 0x6001 | STACK_POINTER << 7:
        change = _signed(_bits(word, (12, 9), (4, 8), (3, 7), (5, 6), (2, 5), (6, 4)), 10)
    return max(-change, 0)


def _target(word: int, place: int, pairs: dict[int, int]) -> int | None:
    """Where an instruction goes to: jal, c.j and c.jal, or auipc with jalr; `pairs` has the former's registers."""
    if word & 0x7F == JUMP:
        whole = _bits(word, (31, 20), *((12 + bit, 12 + bit) for bit in range(8)), (20, 11), *_run(21, 1, 10))
        return place + _signed(whole, 21)
    if word & 0x7F == CALL_PAIR:
        pairs[word >> 7 & 31] = place + _signed(word & ~0xFFF, 32)
    elif word & 0x707F == JUMP_TO_REGISTER and (word >> 15 & 31) in pairs:
        return pairs.pop(word >> 15 & 31) + _signed(word >> 20, 12)
    elif word & 3 == 1 and word >> 13 in (1, 5):
        places = ((12, 11), (11, 4), (10, 9), (9, 8), (8, 10), (7, 6), (6, 7), (5, 3), (4, 2), (3, 1), (2, 5))
        return place + _signed(_bits(word, *places), 12)
    return None


def _bits(word: int, *moves: tuple[int, int]) -> int:
    return sum((word >> there & 1) << here for there, here in moves)


def _run(there: int, here: int, count: int) -> Iterator[tuple[int, int]]:
    return ((there + bit, here + bit) for bit in range(count))


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value
