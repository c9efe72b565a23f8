"""A linked program with instructions in the place of the parts of blocks that they stand for.

The new instruction takes the place of the part's last one, the others go, and the rest of the block moves together. A
block begins where it did, so that nobody else's jumps change; behind its end, what falls through jumps over the gap.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from tilewright.instruction.declaration import Instruction
from tilewright.instruction.search.blocks import Block, blocks_of
from tilewright.instruction.search.cones import BlockParts, Cone, apart
from tilewright.instruction.search.decoded import CONTROL, Decoded, Kind
from tilewright.instruction.search.decoding import PAGE_BOUND
from tilewright.sim.program.elf import parse_elf

UNTOUCHED = ("main", "_start")
"""Their return addresses say where a network is called."""
NOP, JUMP, C_JUMP, C_BRANCH = 0x0001, 0x6F, 0xA001, 0xC001


def rewritten(
    data: bytes, wanted: Mapping[str, Instruction], own: Sequence[Instruction], only: frozenset[int]
) -> bytes:
    """The ELF file with an instruction for each of these semantics, the earlier ones first, in the blocks that begin at
    these addresses; `own` are those that it has already."""
    elf, made = parse_elf(data, "program"), bytearray(data)
    for block in blocks_of(elf, own):
        if block.start in only and may_move(block) and (cones := chosen(block, list(wanted))):
            place = _offset(data, block.start)
            code = data[place : place + block.end - block.start]
            if new := _code(block, code, cones, wanted):
                made[place : place + len(code)] = new
    return bytes(made)


def may_move(block: Block) -> bool:
    """Whether its code may lie elsewhere."""
    return block.function not in UNTOUCHED and not any(one.name == PAGE_BOUND for one in block.code)


def chosen(block: Block, semantics: Sequence[str]) -> list[Cone]:
    """Parts that have nothing in common; those of the first semantics first, of each the last results first."""
    found: dict[str, list[Cone]] = {text: [] for text in semantics}
    for cone in BlockParts(block).cones():
        if cone.semantics in found:
            found[cone.semantics].append(cone)
    return apart([cone for text in semantics for cone in reversed(found[text])])


def _offset(data: bytes, address: int) -> int:
    """Of an address, in the file."""
    (table,) = struct.unpack_from("<I", data, 28)
    size, count = struct.unpack_from("<HH", data, 42)
    for at in range(table, table + size * count, size):
        _, offset, start, _, held = struct.unpack_from("<IIIII", data, at)
        if start <= address < start + held:
            return int(offset + address - start)
    raise ValueError(f"{address:#x} is not in the file")


def _code(block: Block, code: bytes, cones: Sequence[Cone], wanted: Mapping[str, Instruction]) -> bytes | None:
    """As long as it was; None where a jump cannot be moved."""
    gone = {place for cone in cones for place in cone.places[:-1]}
    new = {cone.places[-1]: _word(cone, wanted[cone.semantics], block) for cone in cones}
    pieces, last = [], block.code[-1]
    for at, one in enumerate(block.code):
        own = code[one.address - block.start : one.address - block.start + one.size]
        pieces.append(b"" if at in gone else new.get(at, own))
    gap = len(code) - sum(map(len, pieces))
    if gap < 0 or gap % 2:
        return None
    if last.kind in CONTROL:
        moved = _moved(last, pieces[-1], gap)
        if moved is None:
            return None
        pieces[-1] = moved
    return b"".join(pieces) + _filling(gap, last.kind in (Kind.JUMPS, Kind.RETURNS, Kind.LEAVES))


def _word(cone: Cone, one: Instruction, block: Block) -> bytes:
    rd = block.code[cone.places[-1]].rd
    return (one.match | rd << 7 | cone.rs1 << 15 | (cone.rs2 or 0) << 20).to_bytes(4, "little")


def _filling(gap: int, is_unreached: bool) -> bytes:
    """What lies behind a block: a jump over it, of two bytes."""
    nops = NOP.to_bytes(2, "little") * (gap // 2)
    if is_unreached or gap <= 2:
        return nops
    return _c_jump(gap).to_bytes(2, "little") + nops[2:] if gap < 2048 else b"" + _jump(gap) + nops[4:]


def _moved(one: Decoded, code: bytes, gap: int) -> bytes | None:
    """A jump or branch so many bytes before where it was."""
    if not one.target or not gap:
        return code
    offset, word = one.target - one.address + gap, int.from_bytes(code, "little")
    if one.kind is Kind.BRANCHES:
        return _moved_branch(one, word, offset)
    if one.size == 2:
        return (word & 0xE003 | _c_jump(offset) & 0x1FFC).to_bytes(2, "little") if -2048 <= offset < 2048 else None
    return (word & 0xFFF | int.from_bytes(_jump(offset), "little") & ~0xFFF).to_bytes(4, "little")


def _moved_branch(one: Decoded, word: int, offset: int) -> bytes | None:
    if one.size == 2:
        if not -256 <= offset < 256:
            return None
        return (
            word & 0xE383 | _bits(offset, ((8, 12), (4, 11), (3, 10), (7, 6), (6, 5), (2, 4), (1, 3), (5, 2)))
        ).to_bytes(2, "little")
    if not -4096 <= offset < 4096:
        return None
    fields = ((12, 31), *((at, at + 20) for at in range(5, 11)), *((at, at + 7) for at in range(1, 5)), (11, 7))
    return (word & 0x01FFF07F | _bits(offset, fields)).to_bytes(4, "little")


def _c_jump(offset: int) -> int:
    return C_JUMP | _bits(
        offset, ((11, 12), (4, 11), (9, 10), (8, 9), (10, 8), (6, 7), (7, 6), (3, 5), (2, 4), (1, 3), (5, 2))
    )


def _jump(offset: int) -> bytes:
    fields = ((20, 31), *((at, at + 20) for at in range(1, 11)), (11, 20), *((at, at) for at in range(12, 20)))
    return (JUMP | _bits(offset, fields)).to_bytes(4, "little")


def _bits(value: int, fields: Sequence[tuple[int, int]]) -> int:
    """Bits of a number, each at its place in a word."""
    return sum((value >> bit & 1) << place for bit, place in fields)
