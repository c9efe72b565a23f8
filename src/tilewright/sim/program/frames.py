"""What functions of a program for RISC-V take of the stack, and which of them they call: read from its instructions, so
whatever compiler has made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import pairwise

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.program.elf import Elf, code_sections

SP, UNKNOWN = 2, 1 << 20
"""The stack pointer; bytes of a frame whose size is only known at run time."""
OP_IMM, OP, LUI, AUIPC, JAL, JALR = 0x13, 0x33, 0x37, 0x17, 0x6F, 0x67


@dataclass
class Function:
    name: str
    start: int
    frame: int = 0
    """Bytes that its instructions take, all of them together."""
    calls: set[int] = field(default_factory=set)
    """Addresses that it calls or jumps to outside of itself."""
    sites: dict[int, int] = field(default_factory=dict)
    """The address behind an instruction that takes bytes -> how many."""


@dataclass(frozen=True)
class Frames:
    functions: Mapping[int, Function]
    """By their addresses."""

    @property
    def sites(self) -> dict[int, int]:
        return {at: size for function in self.functions.values() for at, size in function.sites.items()}

    def depth(self, start: int, above: tuple[int, ...] = ()) -> int:
        """Bytes from the entry of a function on, with all that it calls by name."""
        function = self.functions.get(start)
        if function is None:
            return 0
        if start in above:
            raise CompileError(
                f"function {function.name}", "calls itself: its stack has no bound", "write it as a loop"
            )
        inner = (self.depth(callee, (*above, start)) for callee in function.calls)
        return function.frame + max(inner, default=0)


def frames_of(elf: Elf) -> Frames:
    """Of all but the code at the entry, which finds the stacks."""
    found = {}
    for address, code in code_sections(elf):
        names = {start: name for start, name in elf.functions if address <= start < address + len(code)}
        for start, end in pairwise([*sorted(names), address + len(code)]):
            if start != elf.entry:
                found[start] = _read(code[start - address : end - address], names[start], start, end)
    return Frames(found)


def _read(code: bytes, name: str, start: int, end: int) -> Function:
    found, values = Function(name, start), dict[int, int]()
    for pc, length, (kind, rd, rs1, rs2, value) in _decoded(code, start):
        if kind == "add" and rd == rs1 == SP and value < 0:
            _take(found, pc + length, -value)
        elif kind in ("sum", "sub") and rd == rs1 == SP:
            known = values.get(rs2, UNKNOWN if kind == "sub" else -UNKNOWN)
            _take(found, pc + length, known if kind == "sub" else -known)
        elif kind == "set":
            values[rd] = value
        elif kind == "add":
            values[rd] = values.get(rs1, 0) + value
        elif kind == "pc":
            values[rd] = pc + value
        elif kind == "jump" and not start <= pc + value < end:
            found.calls.add(pc + value)
        elif kind == "far" and rs1 in values and not start <= values[rs1] + value < end:
            found.calls.add((values[rs1] + value) & 0xFFFF_FFFE)
    return found


def _take(function: Function, at: int, size: int) -> None:
    if size > 0:
        function.frame += size
        function.sites[at] = size


Decoded = tuple[str, int, int, int, int]
"""Kind, rd, rs1, rs2, value: `add` an immediate, `sum` and `sub` of registers, `set` a register, `pc` plus a value,
`jump` by a distance, `far` to a register plus a value; anything else is of no interest."""
OTHER: Decoded = ("", 0, 0, 0, 0)


def _decoded(data: bytes, start: int) -> Iterator[tuple[int, int, Decoded]]:
    at = 0
    while at + 2 <= len(data):
        half = int.from_bytes(data[at : at + 2], "little")
        length = 4 if half & 3 == 3 else 2
        word = int.from_bytes(data[at : at + length], "little")
        yield start + at, length, _long(word) if length == 4 else _short(word)
        at += length


def _long(word: int) -> Decoded:
    opcode, rd, rs1, rs2, kind = word & 0x7F, word >> 7 & 31, word >> 15 & 31, word >> 20 & 31, word >> 12 & 7
    if opcode == OP_IMM and kind == 0:
        return ("add" if rs1 else "set"), rd, rs1, 0, _signed(word >> 20, 12)
    if opcode == OP and kind == 0 and word >> 25 in (0, 0x20):
        return ("sub" if word >> 30 else "sum"), rd, rs1, rs2, 0
    if opcode in (LUI, AUIPC):
        return ("set" if opcode == LUI else "pc"), rd, 0, 0, _signed(word >> 12, 20) << 12
    if opcode == JALR:
        return "far", rd, rs1, 0, _signed(word >> 20, 12)
    if opcode == JAL:
        bits = (word >> 31) << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
        return "jump", rd, 0, 0, _signed(bits, 21)
    return OTHER


def _short(half: int) -> Decoded:
    quadrant, kind, rd = half & 3, half >> 13, half >> 7 & 31
    small = _signed((half >> 12 & 1) << 5 | half >> 2 & 31, 6)
    if quadrant == 1 and kind == 0:
        return "add", rd, rd, 0, small
    if quadrant == 1 and kind == 2:
        return "set", rd, 0, 0, small
    if quadrant == 1 and kind == 3 and rd == SP:
        bits = (half >> 12 & 1) << 9 | (half >> 3 & 3) << 7 | (half >> 5 & 1) << 6 | (half >> 2 & 1) << 5
        return "add", SP, SP, 0, _signed(bits | (half >> 6 & 1) << 4, 10)
    if quadrant == 1 and kind == 3:
        return "set", rd, 0, 0, small << 12
    if quadrant == 1 and kind in (1, 5):
        return "jump", 1 if kind == 1 else 0, 0, 0, _short_distance(half)
    if quadrant == 2 and kind == 4 and half >> 12 & 1 and half >> 2 & 31:
        return "sum", rd, rd, half >> 2 & 31, 0
    return OTHER


def _short_distance(half: int) -> int:
    """Of c.j and c.jal: 11|4|9:8|10|6|7|3:1|5."""
    places = ((12, 11), (11, 4), (10, 9), (9, 8), (8, 10), (7, 6), (6, 7), (5, 3), (4, 2), (3, 1), (2, 5))
    return _signed(sum((half >> source & 1) << to for source, to in places), 12)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value
