"""Calls in machine code, RISC-V's and Thumb's, and what a platform did during one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.errors import present
from tilewright.sim.activity import Activity
from tilewright.sim.program.elf import MACHINE_ARM, Elf, bytes_between
from tilewright.sim.watching.probes import Probe

END = 1 << 32


def return_addresses(elf: Elf, name: str) -> Iterator[int]:
    """The addresses behind the calls in a function."""
    if name not in elf.symbols:
        return
    start = elf.symbols[name]
    end = min((address for address, _ in elf.functions if address > start), default=END)  # the last one of its section
    code = bytes_between(elf, start, end)
    at, is_long, is_call = 0, *(_THUMB if elf.machine == MACHINE_ARM else _RISCV)
    while at + 2 <= len(code):
        half = int.from_bytes(code[at : at + 2], "little")
        size = 4 if is_long(half) else 2
        if is_call(int.from_bytes(code[at : at + size], "little"), size):
            yield start + at + size
        at += size


def _is_long(half: int) -> bool:
    return half & 3 == 3


def _is_call(instruction: int, size: int) -> bool:
    """jal and jalr that leave the way back in ra, in both lengths."""
    if size == 4:
        return instruction & 0xFFF in (0x0EF, 0x0E7)
    is_jalr = instruction & 0xF07F == 0x9002 and instruction & 0x0F80 != 0
    return is_jalr or instruction & 0xE003 == 0x2001


def _is_long_thumb(half: int) -> bool:
    return half >> 11 in (0b11101, 0b11110, 0b11111)


def _is_thumb_call(instruction: int, size: int) -> bool:
    """bl, whose first half comes first; and blx of a register."""
    if size == 4:
        return instruction & 0xF800 == 0xF000 and instruction >> 16 & 0xD000 == 0xD000
    return instruction & 0xFF87 == 0x4780


_RISCV, _THUMB = (_is_long, _is_call), (_is_long_thumb, _is_thumb_call)


def around_call(events: Iterable[Probe], entry: int, returns: Iterable[int]) -> tuple[Activity, Activity]:
    """What the platform had done when a function was first entered, and when that call had returned."""
    behind = frozenset(returns)
    metered = iter([event for event in events if event.activity is not None])
    before = next(event for event in metered if event.address == entry)
    after = next(event for event in metered if event.address in behind and event.core == before.core)
    missing = "a metered event has no activity"
    return present(before.activity, "simulator", missing), present(after.activity, "simulator", missing)
