"""What a block reads from memories that have a core wait, by where its pointers are when it is executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tilewright.emulator.decoding import Instruction, Kind

SHORTER = {"ldrb": 1, "ldrsb": 1, "ldrh": 2, "ldrsh": 2}
"""Bytes of loads that are shorter than a word."""
POINTERS_KEPT = ("mov", "add", "sub")
"""What a pointer comes out of as one into the same memory, but for numbers of other sizes."""
ADDRESSES = 1 << 32


def read_waits(
    instructions: Sequence[Instruction], registers: Mapping[str, int], wait_of: Callable[[int, int], int],
    word_at: Callable[[int], int | None],
) -> int:  # fmt: skip
    """Of all loads together; `wait_of` an address and bytes. A load reads from the same memory many times, so one of
    them tells for those that follow; registers that are computed in other ways than by sums count as if they pointed
    elsewhere."""
    known, total = dict(registers), 0
    for one in instructions:
        address = _address(one, known)
        if one.is_load and address is not None:
            total += wait_of(address, SHORTER.get(one.name, 4 * one.words))
        changed = _changed(one, known, address, word_at)
        forgotten = one.writes - one.base - changed.keys()
        known = {name: value for name, value in (known | changed).items() if name not in forgotten}
    return total


def _address(one: Instruction, known: Mapping[str, int]) -> int | None:
    if not one.words:
        return None
    if "pc" in one.base:
        return one.address + 4
    if not one.base <= known.keys():
        return None
    return (sum(known[name] for name in one.base) + one.offset) % ADDRESSES


def _changed(
    one: Instruction, known: Mapping[str, int], address: int | None, word_at: Callable[[int], int | None]
) -> dict[str, int]:
    if one.kind is Kind.LOAD and one.name == "ldr" and address is not None:
        value = word_at(address)
        return {} if value is None else dict.fromkeys(one.writes - one.base, value)
    if one.kind is Kind.PLAIN and one.name in POINTERS_KEPT and one.reads and one.reads <= known.keys():
        return dict.fromkeys(one.writes, sum(known[name] for name in one.reads) % ADDRESSES)
    if one.kind is Kind.PLAIN and one.name == "mov" and not one.reads:
        return dict.fromkeys(one.writes, 0)  # a number, which a pointer is moved by
    return {}
