"""Calls in machine code, and what a platform did during one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.errors import present
from tilewright.sim.activity import Activity
from tilewright.sim.elf import Elf, bytes_between
from tilewright.sim.probing import Probe

END = 1 << 32


def return_addresses(elf: Elf, name: str) -> Iterator[int]:
    """The addresses behind the calls in a function."""
    if name not in elf.symbols:
        return
    start = elf.symbols[name]
    end = min((address for address, _ in elf.functions if address > start), default=END)  # the last one of its section
    code = bytes_between(elf, start, end)
    at = 0
    while at + 2 <= len(code):
        half = int.from_bytes(code[at : at + 2], "little")
        size = 4 if half & 3 == 3 else 2
        if _is_call(int.from_bytes(code[at : at + size], "little"), size):
            yield start + at + size
        at += size


def _is_call(instruction: int, size: int) -> bool:
    """jal and jalr that leave the way back in ra, in both lengths."""
    if size == 4:
        return instruction & 0xFFF in (0x0EF, 0x0E7)
    is_jalr = instruction & 0xF07F == 0x9002 and instruction & 0x0F80 != 0
    return is_jalr or instruction & 0xE003 == 0x2001


def around_call(events: Iterable[Probe], entry: int, returns: Iterable[int]) -> tuple[Activity, Activity]:
    """What the platform had done when a function was first entered, and when that call had returned."""
    behind = frozenset(returns)
    metered = iter([event for event in events if event.activity is not None])
    before = next(event for event in metered if event.address == entry)
    after = next(event for event in metered if event.address in behind and event.core == before.core)
    missing = "a metered event has no activity"
    return present(before.activity, "simulator", missing), present(after.activity, "simulator", missing)
