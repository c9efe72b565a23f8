"""Semantics as C: what the simulator calls; random operands say whether it is defined and what a pattern says."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.instruction.declaration import Instruction
from tilewright.sim.isa.declared import FUNCTION, CustomInstruction, words
from tilewright.toolchain.compiler import FAILED, find_compiler
from tilewright.toolchain.shared_library import library_of

C = Path(__file__).parent / "c"
PATTERNS_HEADER = Path(__file__).parents[1] / "targets" / "bare" / "kernels" / "patterns.h"
TRIALS = 400_000
"""Random operands; most have corner values among them."""
TRAPPING = (
    *("-std=gnu99", "-O1", "-g0", "-fPIC", "-Wall", "-Wextra", "-Werror"),
    *("-fsanitize=undefined", "-fsanitize-trap=undefined"),
)
REFUSED = "write it without shifts by 32 or more, sums that overflow int32_t (cast to uint32_t or int64_t) or places \
beyond an operand"


def simulated(one: Instruction) -> CustomInstruction:
    """As the simulator has it."""
    reads, bits = 2 * one.accumulates + one.reads_second, one.immediate_bits
    return CustomInstruction(one.name, one.mask, one.match, reads, one.latency, bits, _texts(one))


def _texts(one: Instruction) -> tuple[tuple[str, str], ...]:
    """What the simulator compiles."""
    body = f"{_function(one)}\nuint32_t {FUNCTION}({_ARGUMENTS});\nuint32_t {FUNCTION}({_ARGUMENTS}) {{\n"
    source = f"{body}  return tw_semantics(rd_, rs1_, rs2_, imm_);\n}}\n"
    return words({"function.c": source, "operands.h": _text("operands.h")})


_ARGUMENTS = "uint32_t rd_, uint32_t rs1_, uint32_t rs2_, uint32_t imm_"


def _function(one: Instruction) -> str:
    """Operands that it does not have are not there."""
    given = {"rd": one.accumulates, "rs1": True, "rs2": one.reads_second}
    operands = [f"  const tw_word {name} = {{{name}_}}; (void){name};" for name, there in given.items() if there]
    operands += ["  const int32_t imm = (int32_t)imm_; (void)imm;"] if one.immediate_bits else []
    unused = " ".join(f"(void){name}_;" for name in ("rd", "rs1", "rs2", "imm"))
    lines = ['#include "operands.h"', "", f"static uint32_t tw_semantics({_ARGUMENTS}) {{", f"  {unused}", *operands]
    return "\n".join([*lines, f"  return (uint32_t)({one.semantics});", "}"])


@cache
def _text(name: str) -> str:
    return (C / name).read_text(encoding="utf-8")


def check_semantics(one: Instruction) -> None:
    """Random operands, with every immediate: nothing undefined happens, and kernels get what their pattern says."""
    found = Found()
    _checker(one).tw_check(TRIALS, ctypes.byref(found))
    operands = ", ".join(f"{name} = {value:#x}" for name, value in operands_of(one, found).items())
    if found.is_undefined:
        what = f"'{one.semantics}' has no defined value for {operands}"
        raise CompileError(f"{one.place}, semantics", what, REFUSED)
    if found.differs:
        what = f"is not {one.implements}: for {operands} it gives {found.got:#x}, the pattern {found.wanted:#x}"
        raise CompileError(f"{one.place}, semantics", what, "mend it, or leave 'implements' out")


class Found(ctypes.Structure):
    """`found` of check.c."""

    _fields_ = [
        (name, ctypes.c_uint32) for name in ("is_undefined", "differs", "rd", "rs1", "rs2", "imm", "got", "wanted")
    ]


def operands_of(one: Instruction, found: Found) -> Mapping[str, int]:
    given = {"rd": one.accumulates, "rs1": True, "rs2": one.reads_second, "imm": one.immediate_bits > 0}
    return {name: int(getattr(found, name)) for name, there in given.items() if there}


def _checker(one: Instruction) -> ctypes.CDLL:
    pattern = one.pattern
    texts = checking(one) if pattern is None else checking(
        one, '#include "patterns.h"\n', f"{pattern.reference}({', '.join(pattern.given)})", pattern.domain
    )  # fmt: skip
    compiler = find_compiler()
    try:
        return ctypes.CDLL(str(library_of(texts, "instructions", compiler, TRAPPING)))
    except CompileError as error:
        if not error.what.startswith(FAILED):
            raise
        raise CompileError(f"{one.place}, semantics", _first(error.what), _hint(one)) from None


def checking(one: Instruction, declared: str = "", wanted: str = "", takes: str = "1") -> dict[str, str]:
    """Sources that compare the semantics with an expression of the operands, for those of which another is true."""
    definitions = f"#define IMMEDIATE_BITS {one.immediate_bits}\n{declared}"
    if wanted:
        definitions += f"#define WANTED {wanted}\n#define TAKES {takes}\n"
    return {
        "semantics.h": f"{_function(one)}\n{definitions}", "operands.h": _text("operands.h"),
        "check.c": _text("check.c"),
        "patterns.h": PATTERNS_HEADER.read_text(encoding="utf-8"), "instructions.h": "",
    }  # fmt: skip


def _first(what: str) -> str:
    """The compiler's first complaint."""
    lines = [line for line in what.splitlines() if "error:" in line]
    said = lines[0].partition("error:")[2].strip() if lines else what.removeprefix(FAILED).strip()
    return f"is no C expression of its operands: {said}"


def _hint(one: Instruction) -> str:
    names = [name.rstrip("+") for name in one.operands if name != "rd"]
    known = [*(f"{name}.u32" if name[0] == "r" else "imm" for name in names)]
    read = "" if one.accumulates else ", and rd if operands have rd+"
    forms = ".s32, .u16[2], .s16[2], .u8[4], .s8[4]"
    return f"it has {', '.join(known)} (also {forms}){read}; functions: docs/instructions.md"
