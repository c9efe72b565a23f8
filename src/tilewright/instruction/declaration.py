"""`instruction.toml`: an instruction as a user declares it, and what such a file may say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.instruction.patterns import PATTERNS, Pattern
from tilewright.records import dataclass
from tilewright.target.toml_file import read_toml

DECLARATION = "instruction.toml"
SHOWN = "docs/instructions.md shows one; `tilewright instruction new NAME` writes one"
OPCODES = {"custom-0": 0x0B, "custom-1": 0x2B, "custom-2": 0x5B, "custom-3": 0x7B}
"""The opcodes that RISC-V leaves to users."""
FORMS = (
    ("rd", "rs1"), ("rd", "rs1", "rs2"), ("rd+", "rs1"), ("rd+", "rs1", "rs2"),
    ("rd", "rs1", "imm5"), ("rd+", "rs1", "imm5"), ("rd", "rs1", "imm12"), ("rd+", "rs1", "imm12"),
)  # fmt: skip
"""Operands, in this order; `rd+` is read before it is written."""
LONGEST = 255
"""Cycles of an instruction at most."""
NOT_IN_EXPRESSIONS = re.compile(r"[;{}#\"'\\`]|\*\s*\)")
"""Also a cast to a pointer: the expression is called within this process."""
WORDS = re.compile(r"\b[A-Za-z_]\w*")
IN_EXPRESSIONS = re.compile(
    r"rd|rs[12]|imm|[us](8|16|32)|clip|min|max|popcount|upper|bytes|u?int(8|16|32|64)_t|U?INT(8|16|32|64)_(MIN|MAX)|"
    r"int|unsigned|__builtin_(bswap|clrsb|clz|ctz|ffs|parity|popcount)\w*"
)
"""Words of an expression: operands, their parts, functions of `c/operands.h`, types, and functions of bits."""
MODULE = re.compile(r"[A-Za-z_][\w$]*", re.ASCII)
FIELDS = (
    "name",
    "summary",
    "opcode",
    "funct3",
    "funct7",
    "operands",
    "semantics",
    "latency",
    "implements",
    "rtl",
    "top",
)


@dataclass(frozen=True)
class Instruction:
    name: str
    opcode: str
    """Of OPCODES."""
    operands: tuple[str, ...]
    """Of FORMS."""
    semantics: str
    """A C expression of the operands (`c/operands.h`): what rd becomes."""
    funct3: int = 0
    funct7: int = 0
    """Nothing where the immediate has 12 bits."""
    latency: int = 1
    """Cycles in which the core does nothing else."""
    implements: str = ""
    """Of PATTERNS: the inner loops of kernels that use it."""
    summary: str = ""
    rtl: Path | None = None
    """Verilog of what computes it."""
    top: str = ""
    """The module of that; the instruction's name by default."""
    place: str = ""
    """The file that says so."""

    @property
    def accumulates(self) -> bool:
        return self.operands[0] == "rd+"

    @property
    def immediate_bits(self) -> int:
        last = self.operands[-1]
        return int(last.removeprefix("imm")) if last.startswith("imm") else 0

    @property
    def reads_second(self) -> bool:
        return "rs2" in self.operands

    @property
    def mask(self) -> int:
        """The bits of a word that say that it is this instruction."""
        unread = 0 if self.reads_second or self.immediate_bits else 31 << 20
        return 0x707F if self.immediate_bits == 12 else 0xFE00707F | unread

    @property
    def match(self) -> int:
        return OPCODES[self.opcode] | self.funct3 << 12 | (0 if self.immediate_bits == 12 else self.funct7 << 25)

    @property
    def pattern(self) -> Pattern | None:
        return PATTERNS.get(self.implements)


def read_instruction(place: str) -> Instruction:
    """The declaration of a folder; what is wrong in it is refused with what to write instead."""
    folder = Path(place).resolve()
    path = folder / DECLARATION
    if not path.is_file():
        what = f"has no {DECLARATION}" if folder.is_dir() else "is not a folder"
        raise CompileError(f"--instruction {place}", what, SHOWN)
    return _declared(read_toml(path, "instruction", SHOWN), path)


def _declared(given: Mapping[str, Any], path: Path) -> Instruction:
    _check_names(given, path)
    name = _text(given, "name", path)
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        what = f"'{name}' is not of lower-case letters, digits and _, or is longer than 31"
        raise _wrong(path, "name", what, 'for example name = "dot4"')
    found = Instruction(
        name, _opcode(given, path), _operands(given, path), _expression(given, path),
        _number(given, "funct3", 0, 7, 0, path), _number(given, "funct7", 0, 127, 0, path),
        _number(given, "latency", 1, LONGEST, 1, path), _text(given, "implements", path, ""),
        _text(given, "summary", path, ""), _rtl(given, path), _top(given, path, name), str(path),
    )  # fmt: skip
    if found.immediate_bits == 12 and "funct7" in given:
        raise _wrong(path, "funct7", "an immediate of 12 bits lies in its place", "leave funct7 out, or use imm5")
    return _with_known_pattern(found, path)


def _check_names(given: Mapping[str, Any], path: Path) -> None:
    for name in given:
        if name not in FIELDS:
            near = get_close_matches(name, FIELDS)
            raise CompileError(
                str(path), f"'{name}' is no field of an instruction",
                f"did you mean '{near[0]}'?" if near else f"it has {', '.join(FIELDS)}",
            )  # fmt: skip
    for name in ("name", "opcode", "operands", "semantics"):
        if name not in given:
            raise CompileError(str(path), f"has no '{name}'", SHOWN)


def _wrong(path: Path, field: str, what: str, hint: str) -> CompileError:
    return CompileError(f"{path}, {field}", what, hint)


def _text(given: Mapping[str, Any], field: str, path: Path, otherwise: str | None = None) -> str:
    value = given.get(field, otherwise)
    if not isinstance(value, str):
        raise _wrong(path, field, f"{value!r} is no text", f'{field} = "..."')
    return value


def _number(given: Mapping[str, Any], field: str, least: int, most: int, otherwise: int, path: Path) -> int:
    value = given.get(field, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong(path, field, f"{value!r} is no whole number of {least} to {most}", f"{field} = {otherwise}")
    return value


def _opcode(given: Mapping[str, Any], path: Path) -> str:
    value = given["opcode"]
    if not isinstance(value, str) or value not in OPCODES:
        shown = f"{value:#x}" if isinstance(value, int) else repr(value)
        what = f"{shown} is not in a custom opcode space, so it may be an instruction of RISC-V"
        raise _wrong(path, "opcode", what, f"use {', '.join(OPCODES)}")
    return str(value)


def _operands(given: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    value = given["operands"]
    if not isinstance(value, list) or tuple(value) not in FORMS:
        known = "; ".join(" ".join(form) for form in FORMS)
        raise _wrong(path, "operands", f"{value!r} is no form of operands", f"use one of: {known}")
    return tuple(value)


def _expression(given: Mapping[str, Any], path: Path) -> str:
    text = " ".join(_text(given, "semantics", path).split())
    if not text or (found := NOT_IN_EXPRESSIONS.search(text)):
        what = f"'{found[0]}' is in no expression" if text and found else "it is empty"
        raise _wrong(path, "semantics", what, 'one C expression: semantics = "rd.u32 + rs1.u32 * rs2.u32"')
    for word in WORDS.findall(text):
        if not IN_EXPRESSIONS.fullmatch(word):
            hint = "it has operands, whole numbers, and the functions of docs/instructions.md"
            raise _wrong(path, "semantics", f"'{word}' is nothing that an expression has", hint)
    return text


def _rtl(given: Mapping[str, Any], path: Path) -> Path | None:
    name = _text(given, "rtl", path, "")
    if name and not (path.parent / name).is_file():
        raise _wrong(path, "rtl", f"{name} is no file of the folder", 'for example rtl = "dot4.v"')
    return path.parent / name if name else None


def _top(given: Mapping[str, Any], path: Path, otherwise: str) -> str:
    """It stands in scripts of other programs."""
    name = _text(given, "top", path, otherwise)
    if not MODULE.fullmatch(name):
        raise _wrong(path, "top", f"{name!r} is no name of a module", f'for example top = "{otherwise}"')
    return name


def _with_known_pattern(found: Instruction, path: Path) -> Instruction:
    name = found.implements
    if name and name not in PATTERNS:
        raise _wrong(path, "implements", f"'{name}' is no pattern of the kernels", f"they have {', '.join(PATTERNS)}")
    if found.pattern and found.operands != found.pattern.operands:
        own, wanted = " ".join(found.operands), " ".join(found.pattern.operands)
        raise _wrong(path, "operands", f"{name} has the operands {wanted}, the instruction {own}", "change one of them")
    return found
