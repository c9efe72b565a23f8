"""Thumb instructions as far as their timing depends on them: what they do, what they read and write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING

from tilewright.errors import CompileError
from tilewright.records import dataclass

if TYPE_CHECKING:
    from capstone import Cs, CsInsn

NO_REGISTERS: frozenset[str] = frozenset()


class Kind(Enum):
    PLAIN = auto()
    """Arithmetic, logic, moves."""
    SHIFTED = auto()
    """The same with a shifted operand, parts of words, saturation, several lanes of a word."""
    MULTIPLY = auto()
    """Also with a sum."""
    DIVIDE = auto()
    LOAD = auto()
    STORE = auto()
    SEVERAL = auto()
    """Loads or stores of more than one word."""
    JUMP = auto()
    """To an address in the instruction."""
    CALL = auto()
    """The same, with the way back."""
    COMPUTED_JUMP = auto()
    """To an address in a register."""
    TABLE_JUMP = auto()
    CONDITION = auto()
    """IT."""
    FLOAT = auto()
    SYSTEM = auto()
    """Special registers and barriers."""


JUMPS = frozenset({Kind.JUMP, Kind.CALL, Kind.COMPUTED_JUMP, Kind.TABLE_JUMP})


@dataclass(frozen=True)
class Instruction:
    name: str
    """Without condition and width."""
    kind: Kind
    address: int
    size: int
    """Bytes: 2 or 4."""
    reads: frozenset[str] = NO_REGISTERS
    """Other than for what follows."""
    writes: frozenset[str] = NO_REGISTERS
    base: frozenset[str] = NO_REGISTERS
    """Registers that the address of a load or store is computed from."""
    offset: int = 0
    """What is added to them."""
    sum: frozenset[str] = NO_REGISTERS
    """Registers that a product is added to."""
    words: int = 0
    """That are loaded or stored."""
    sets_flags: bool = False

    @property
    def is_narrow(self) -> bool:
        return self.size == 2

    @property
    def is_load(self) -> bool:
        return self.name.startswith(LOADS)

    @property
    def has_register_offset(self) -> bool:
        return len(self.base) > 1

    @property
    def loads_pc(self) -> bool:
        return "pc" in self.writes and self.words > 0


LOADS = ("ldr", "ldm", "pop", "vldr", "vldm", "vpop")
STORES = ("str", "stm", "push", "vstr", "vstm", "vpush")
TRANSFERS_OF_SEVERAL = ("ldm", "stm", "pop", "push", "vldm", "vstm", "vpop", "vpush", "ldrd", "strd")
MULTIPLIES = (
    "mul", "mla", "mls", "smul", "smla", "smmul", "smmla", "smmls", "smua", "smus", "smls", "umul", "umla", "umaa",
)  # fmt: skip
LONG_PRODUCTS = ("smull", "umull", "smlal", "umlal", "smlsld", "umaal")
SUMS_BEHIND = ("mla", "mls", "smla", "smlsd", "smmla", "smmls")
"""The last operand is added to, but of LONG_PRODUCTS, whose results are."""
FLOAT_SUMS = ("vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms")
DIVIDES = ("sdiv", "udiv")
LANES = (
    "sxt", "uxt", "bfi", "bfc", "sbfx", "ubfx", "pkh", "ssat", "usat", "sadd", "uadd", "ssub", "usub", "qadd", "qsub",
    "qd", "shadd", "uhadd", "shsub", "uhsub", "uqadd", "uqsub", "sel", "clz", "rbit", "rev", "usad",
)  # fmt: skip
SYSTEM = ("mrs", "msr", "dmb", "dsb", "isb", "cps", "svc", "wfi", "wfe", "sev")
JUMP_KINDS = {
    "b": Kind.JUMP, "cbz": Kind.JUMP, "cbnz": Kind.JUMP, "bl": Kind.CALL, "bx": Kind.COMPUTED_JUMP,
    "blx": Kind.COMPUTED_JUMP, "bxns": Kind.COMPUTED_JUMP, "blxns": Kind.COMPUTED_JUMP, "tbb": Kind.TABLE_JUMP,
    "tbh": Kind.TABLE_JUMP,
}  # fmt: skip
ONLY_READING = ("cmp", "cmn", "tst", "teq", "vcmp", "cbz", "cbnz", "vmsr", "msr")
OF_ONE = ("mov", "mvn", "vmov", "vcvt", "vneg", "vabs", "vsqrt", "adr", "neg", *LANES)
"""With two operands, the first is only written."""
REGISTER = re.compile(r"\b(?:r\d+|sb|sl|fp|ip|sp|lr|pc|s\d+|d\d+)\b")
OFFSET = re.compile(r"\[[^\]]*#(-?(?:0x[0-9a-f]+|\d+))\]")


def disassembler() -> Cs:
    try:
        from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs
    except ImportError:
        raise CompileError(
            "capstone", "is not installed: cycles of Cortex-M are counted with it", "pip install 'capstone>=5'"
        ) from None
    return Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8)


def decoded(code: bytes, address: int, decoder: Cs) -> Iterator[Instruction]:
    """What the disassembler does not know is plain, and as wide as its first bits say."""
    at = 0
    while at < len(code):
        for found in decoder.disasm(code[at:], address + at):
            yield _instruction(found)
            at = found.address + found.size - address
        if at < len(code):
            yield Instruction("", Kind.PLAIN, address + at, _width(code[at:]))
            at += _width(code[at:])


def _width(code: bytes) -> int:
    return 4 if len(code) > 1 and code[1] >> 3 in (0b11101, 0b11110, 0b11111) else 2


def _instruction(one: CsInsn) -> Instruction:
    name, operands = one.insn_name(), one.op_str
    name = {"hint": "nop", "fmstat": "vmrs"}.get(name, name)
    mnemonic = one.mnemonic.split(".")[0]
    kind = _kind(name, operands)
    reads, writes, base, added = _registers(name, kind, operands)
    return Instruction(
        name, kind, one.address, one.size, reads, writes, base, _offset(operands) if base else 0, added,
        words=_words(name, kind, operands),
        sets_flags=mnemonic.startswith(f"{name}s") or name in ("cmp", "cmn", "tst", "teq"),
    )  # fmt: skip


def _offset(operands: str) -> int:
    inside = OFFSET.search(operands)
    return 0 if inside is None else int(inside[1], 0)


@lru_cache(maxsize=1 << 14)
def _kind(name: str, operands: str) -> Kind:
    if name in JUMP_KINDS:
        return JUMP_KINDS[name]
    if name.startswith(TRANSFERS_OF_SEVERAL):
        return Kind.SEVERAL
    if name.startswith(LOADS):
        return Kind.LOAD
    if name.startswith(STORES):
        return Kind.STORE
    if name.startswith("it"):
        return Kind.CONDITION
    if name.startswith(DIVIDES):
        return Kind.DIVIDE
    if name.startswith(MULTIPLIES):
        return Kind.MULTIPLY
    if name.startswith(SYSTEM):
        return Kind.SYSTEM
    if name.startswith("v"):
        return Kind.FLOAT
    if operands.startswith("pc,"):
        return Kind.COMPUTED_JUMP
    has_shift = any(word in operands for word in (", lsl ", ", lsr ", ", asr ", ", ror "))
    return Kind.SHIFTED if has_shift or name.startswith(LANES) else Kind.PLAIN


@lru_cache(maxsize=1 << 14)
def _registers(name: str, kind: Kind, operands: str) -> tuple[frozenset[str], ...]:
    """Read, written, used as an address, added to."""
    inside = operands[operands.find("[") :] if "[" in operands else ""
    base = frozenset(REGISTER.findall(inside.split("]")[0]))
    outside = REGISTER.findall(operands.split("[")[0])
    if kind in (Kind.LOAD, Kind.STORE) or name.startswith(("ldrd", "strd")):
        changed = base if "!" in inside or "]," in inside else NO_REGISTERS
        moved = frozenset(outside)
        return _moved(name, moved, changed, base)
    if kind is Kind.SEVERAL:
        return _of_several(name, operands)
    if kind in JUMPS or kind is Kind.SYSTEM or name in ONLY_READING:
        pc = frozenset({"pc"}) if kind is Kind.COMPUTED_JUMP else NO_REGISTERS
        return frozenset(outside), pc, base, NO_REGISTERS
    results = 2 if name in LONG_PRODUCTS or (name == "vmov" and len(outside) == 4) else 1
    writes, reads = frozenset(outside[:results]), frozenset(outside[results:])
    if name.startswith(LONG_PRODUCTS):
        return reads, writes, base, writes if name.startswith(("smlal", "umlal", "smlsld", "umaal")) else NO_REGISTERS
    if name in FLOAT_SUMS:
        return reads, writes, base, writes
    if name.startswith(SUMS_BEHIND) and len(outside) == 4:
        return frozenset(outside[1:3]), writes, base, frozenset(outside[3:])
    is_of_one = name.startswith(OF_ONE) and name != "movt"
    return reads if is_of_one or operands.count(",") > 1 else reads | writes, writes, base, NO_REGISTERS


def _of_several(name: str, operands: str) -> tuple[frozenset[str], ...]:
    pointer, _, listed = operands.partition("{")
    base = frozenset(REGISTER.findall(pointer)) or frozenset({"sp"})
    moved = frozenset(REGISTER.findall(listed))
    changed = base if "!" in pointer or not pointer else NO_REGISTERS
    return _moved(name, moved, changed, base)


def _moved(
    name: str, moved: frozenset[str], changed: frozenset[str], base: frozenset[str]
) -> tuple[frozenset[str], ...]:
    if name.startswith(LOADS):
        return NO_REGISTERS, moved | changed, base, NO_REGISTERS
    return moved, changed, base, NO_REGISTERS


def _words(name: str, kind: Kind, operands: str) -> int:
    if kind in (Kind.LOAD, Kind.STORE):
        return 2 if operands.startswith("d") else 1
    if kind is not Kind.SEVERAL:
        return 0
    if name.startswith(("ldrd", "strd")):
        return 2
    listed = REGISTER.findall(operands[operands.find("{") :])
    return sum(2 if register.startswith("d") else 1 for register in listed)
