"""Code of a RISC-V core as capstone reads it: what each instruction reads, writes and computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from tilewright.instruction.declaration import Instruction
from tilewright.instruction.search.decoded import Decoded, Kind
from tilewright.instruction.search.extensions import of_extensions

if TYPE_CHECKING:
    from capstone import Cs

SAVED = [f"s{number}" for number in range(2, 12)]
NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", *(f"a{number}" for number in range(8))),
    *(*SAVED, "t3", "t4", "t5", "t6"),
)
REGISTERS = {name: number for number, name in enumerate(NAMES)}
BYTE_LOADS = ("lb", "lbu")
LOADS, STORES = (*BYTE_LOADS, "lh", "lhu", "lw", "lwsp"), ("sb", "sh", "sw", "swsp")
REGISTER_OPERATIONS = (
    "add", "sub", "and", "or", "xor", "sll", "srl", "sra", "slt", "sltu", "mul", "mulh", "mulhu", "mulhsu",
)  # fmt: skip
CONSTANT_OPERATIONS = {f"{name}i": name for name in ("add", "and", "or", "xor", "sll", "srl", "sra", "slt")}
SHORT = {"slli": "sll", "srli": "srl", "srai": "sra", "sltiu": "sltu", "addi16sp": "add", "addi4spn": "add"}
ALIASES = {
    "mv": ("add", 0), "not": ("xor", -1), "seqz": ("sltu", 1),
}  # fmt: skip
"""Of one register: the operation with a constant behind it."""
REVERSED = {"neg": "sub", "snez": "sltu", "sgtz": "slt"}
"""Of one register, which is the second operand; the first is zero."""
BRANCHES = (
    "beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz", "bnez", "blez", "bgez", "bltz", "bgtz", "bgt", "ble", "bgtu",
    "bleu",
)  # fmt: skip


DIVISIONS, PAGE_BOUND = ("div", "divu", "rem", "remu"), "auipc"


def decoded(code: bytes, address: int, own: Sequence[Instruction] = ()) -> Iterator[Decoded]:
    """Every instruction; what nobody here knows is OTHER, but for instructions of a user's own."""
    at = 0
    while at + 2 <= len(code):
        word = int.from_bytes(code[at : at + 4], "little")
        size = 4 if word & 3 == 3 else 2
        found = next((one for one in own if size == 4 and word & one.mask == one.match), None)
        yield _own(address + at, word, found) if found else _known(code[at : at + size], address + at)
        at += size


def _own(address: int, word: int, one: Instruction) -> Decoded:
    """Its operation is nobody's: it is in no pattern."""
    rd, rs1, rs2 = (word >> low & 31 for low in (7, 15, 20))
    sources = (rs1, *[rs2] * one.reads_second, *[rd] * one.accumulates)
    return Decoded(address, 4, one.name, Kind.OPAQUE, rd, sources)


@cache
def _disassembler() -> Cs:
    from capstone import CS_ARCH_RISCV, CS_MODE_RISCV32, CS_MODE_RISCVC, Cs

    return Cs(CS_ARCH_RISCV, CS_MODE_RISCV32 | CS_MODE_RISCVC)


def _known(code: bytes, address: int) -> Decoded:
    for _, size, mnemonic, text in _disassembler().disasm_lite(code, address):
        return _read(address, size, mnemonic, text)
    return of_extensions(code, address)


def _read(address: int, size: int, mnemonic: str, text: str) -> Decoded:
    short = mnemonic.startswith("c.")
    name, words = mnemonic.removeprefix("c."), [word.strip() for word in text.split(",") if word.strip()]
    try:
        return _transfer(address, size, name, words) or _computation(address, size, name, words, short)
    except (KeyError, ValueError, IndexError):
        return Decoded(address, size, name, Kind.OTHER)


def _transfer(address: int, size: int, name: str, words: list[str]) -> Decoded | None:
    """Memory and control."""
    if name in LOADS:
        return Decoded(address, size, name, Kind.LOADS, REGISTERS[words[0]], (_base(words[1]),))
    if name in STORES:
        return Decoded(address, size, name, Kind.STORES, 0, (REGISTERS[words[0]], _base(words[1])))
    if name in BRANCHES:
        sources = tuple(REGISTERS[word] for word in words[:-1])
        return Decoded(address, size, name, Kind.BRANCHES, 0, sources, target=address + int(words[-1], 0))
    if name in ("j", "jal"):
        linked = name == "jal" and (len(words) == 1 or words[0] != "zero")
        kind = Kind.CALLS if linked else Kind.JUMPS
        return Decoded(address, size, name, kind, int(linked), target=address + int(words[-1], 0))
    if name in ("jr", "ret", "jalr"):
        return _computed_jump(address, size, name, words)
    return None


def _base(word: str) -> int:
    return REGISTERS[word.partition("(")[2].rstrip(")")]


def _computed_jump(address: int, size: int, name: str, words: list[str]) -> Decoded:
    """A jump by t1 is what linkers make of a call that does not come back; by others there are tables."""
    link, to = (
        (words[0], words[1]) if len(words) == 3 else ("ra" if name == "jalr" else "zero", words[0] if words else "ra")
    )
    known = {("ra", to): Kind.CALLS, ("zero", "ra"): Kind.RETURNS}
    kind = Kind.LEAVES if (link, to, size) == ("zero", "t1", 4) else known.get((link, to), Kind.OTHER)
    return Decoded(address, size, name, kind, int(kind is Kind.CALLS), (REGISTERS[to],))


def _computation(address: int, size: int, name: str, words: list[str], short: bool) -> Decoded:
    """A short form reads what it writes."""
    if name == "nop":
        return Decoded(address, size, "add", Kind.COMPUTES, 0, (0,), 0)
    rd = REGISTERS[words[0]]
    if name == PAGE_BOUND:
        return Decoded(address, size, name, Kind.OPAQUE, rd)
    if name in DIVISIONS:
        return Decoded(address, size, name, Kind.OPAQUE, rd, (REGISTERS[words[1]], REGISTERS[words[2]]))
    if name in ("li", "lui"):
        value = int(words[1], 0) << (12 if name == "lui" else 0)
        return Decoded(address, size, "add", Kind.COMPUTES, rd, (0,), value & 0xFFFFFFFF)
    if name in ALIASES:
        operation, constant = ALIASES[name]
        return Decoded(address, size, operation, Kind.COMPUTES, rd, (REGISTERS[words[1]],), constant & 0xFFFFFFFF)
    if name in REVERSED:
        return Decoded(address, size, REVERSED[name], Kind.COMPUTES, rd, (0, REGISTERS[words[1]]))
    if name == "sltz":
        return Decoded(address, size, "slt", Kind.COMPUTES, rd, (REGISTERS[words[1]], 0))
    whole = [words[0], *words] if short and len(words) == 2 else words
    if name in REGISTER_OPERATIONS:
        return Decoded(address, size, name, Kind.COMPUTES, rd, (REGISTERS[whole[1]], REGISTERS[whole[2]]))
    operation = SHORT.get(name) or CONSTANT_OPERATIONS[name]
    constant = int(whole[2], 0) & 0xFFFFFFFF
    return Decoded(address, size, operation, Kind.COMPUTES, rd, (REGISTERS[whole[1]],), constant)
