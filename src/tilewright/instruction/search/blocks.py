"""Basic blocks of a program's functions, with the registers that are read behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.instruction.declaration import Instruction
from tilewright.instruction.search.decoded import CONTROL, Decoded, Kind
from tilewright.instruction.search.decoding import REGISTERS, decoded
from tilewright.records import dataclass
from tilewright.sim.program.elf import Elf

ALL = (1 << 32) - 2
"""Every register but zero."""


def _mask(*names: str) -> int:
    return sum(1 << REGISTERS[name] for name in names)


SAVED = _mask("sp", "gp", "tp", *(f"s{number}" for number in range(12)))
ARGUMENTS = _mask(*(f"a{number}" for number in range(8)))
CLOBBERED = ARGUMENTS | _mask("ra", *(f"t{number}" for number in range(7)))
AT_RETURN = SAVED | _mask("ra", "a0", "a1")
BEFORE_OTHERS = SAVED | ARGUMENTS | _mask("ra")
"""What a function that is jumped to may read."""


@dataclass(frozen=True)
class Block:
    function: str
    code: tuple[Decoded, ...]
    live: int = ALL
    """Registers that may be read behind it: a bit each."""

    @property
    def start(self) -> int:
        return self.code[0].address

    @property
    def end(self) -> int:
        return self.code[-1].address + self.code[-1].size


def blocks_of(elf: Elf, own: Sequence[Instruction] = ()) -> list[Block]:
    """Of all functions but those with code that nobody can follow: computed jumps and unknown instructions."""
    starts = sorted({address for address, _ in elf.functions})
    names = dict(reversed(elf.functions))
    found: list[Block] = []
    for start, end in zip(starts, [*starts[1:], 1 << 32], strict=True):
        code = list(decoded(_bytes(elf, start, end), start, own))
        if code and not any(one.kind is Kind.OTHER for one in code):
            found += _with_live(_cut(names[start], code))
    return found


def _bytes(elf: Elf, start: int, end: int) -> bytes:
    held = (one for one in elf.segments if one.address <= start < one.address + len(one.data))
    return next((one.data[start - one.address : end - one.address] for one in held), b"")


def _cut(function: str, code: Sequence[Decoded]) -> list[Block]:
    leaders = {one.target for one in code if one.target} | {
        one.address + one.size for one in code if one.kind in CONTROL
    }
    found: list[list[Decoded]] = []
    for one in code:
        if not found or one.address in leaders:
            found.append([])
        found[-1].append(one)
    return [Block(function, tuple(part)) for part in found]


def _with_live(blocks: Sequence[Block]) -> list[Block]:
    """By going backwards until nothing changes."""
    by_start = {block.start: number for number, block in enumerate(blocks)}
    before, changed = [0] * len(blocks), True
    behind = [0] * len(blocks)
    while changed:
        changed = False
        for number in reversed(range(len(blocks))):
            behind[number] = _behind(blocks[number], before, by_start)
            now = _before(blocks[number], behind[number])
            changed |= now != before[number]
            before[number] = now
    return [replace(block, live=live) for block, live in zip(blocks, behind, strict=True)]


def _behind(block: Block, before: Sequence[int], by_start: Mapping[int, int]) -> int:
    last = block.code[-1]

    def at(address: int) -> int:
        return before[by_start[address]] if address in by_start else BEFORE_OTHERS

    if last.kind is Kind.RETURNS:
        return AT_RETURN
    if last.kind is Kind.LEAVES:
        return BEFORE_OTHERS
    live = at(last.target) if last.kind in (Kind.BRANCHES, Kind.JUMPS) else 0
    return live if last.kind is Kind.JUMPS else live | at(block.end)


def _before(block: Block, live: int) -> int:
    for one in reversed(block.code):
        live &= ~(CLOBBERED if one.kind is Kind.CALLS else 1 << one.rd)
        live |= ARGUMENTS | _mask("sp") if one.kind is Kind.CALLS else 0
        for source in one.sources:
            live |= 1 << source
    return live & ALL
