"""The header that gives a compiler an instruction: a function around `.insn`, and the macros of kernels' patterns."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.instruction.declaration import OPCODES, Instruction

HEADER = "instructions.h"
OPENING = """/* Generated: instructions of this core that a user has declared, as functions. */
#ifndef TW_INSTRUCTIONS_H
#define TW_INSTRUCTIONS_H

#include <stdint.h>
"""


def header(found: Sequence[Instruction]) -> str:
    """On any other machine it defines nothing, and kernels compute what the instructions do in C."""
    functions = "\n".join(_function(one) for one in found)
    macros = "".join(_macro(one) for one in found)
    return f"{OPENING}\n#ifdef __riscv\n{functions}{macros}#endif\n\n#endif\n"


def _function(one: Instruction) -> str:
    words = f"{one.summary}: {one.semantics}" if one.summary else one.semantics
    comment = f"/* {one.name}: {' '.join(words.split()).replace('*/', '* /').replace('/*', '/ *')} */"
    if one.immediate_bits:
        return f"{comment}\n{_as_macro(one)}\n"
    given = [name for name, there in (("rd", one.accumulates), ("rs1", True), ("rs2", one.reads_second)) if there]
    arguments = ", ".join(f"uint32_t {name}" for name in given)
    result = "" if one.accumulates else "  uint32_t rd;\n"
    body = f"static inline uint32_t tw_own_{one.name}({arguments}) {{\n{result}  {_assembly(one)};\n  return rd;\n}}"
    return f"{comment}\n{body}\n"


def _as_macro(one: Instruction) -> str:
    """An immediate has to be a constant where the instruction stands."""
    given = ("rd, " if one.accumulates else "") + "rs1, imm"
    result = "uint32_t rd_ = (rd)" if one.accumulates else "uint32_t rd_"
    text = _assembly(one, "rd_", "(uint32_t)(rs1)", "imm")
    return f"#define tw_own_{one.name}({given}) __extension__({{ {result}; {text}; rd_; }})"


def _assembly(one: Instruction, rd: str = "rd", rs1: str = "rs1", last: str = "rs2") -> str:
    opcode = f"{OPCODES[one.opcode]:#x}, {one.funct3}"
    result = f'"{"+" if one.accumulates else "="}r"({rd})'
    if one.immediate_bits == 12:
        return f'__asm__(".insn i {opcode}, %0, %1, %2" : {result} : "r"({rs1}), "i"({last}))'
    if one.immediate_bits == 5:
        return f'__asm__(".insn r {opcode}, {one.funct7}, %0, %1, x%2" : {result} : "r"({rs1}), "i"({last}))'
    if not one.reads_second:
        return f'__asm__(".insn r {opcode}, {one.funct7}, %0, %1, x0" : {result} : "r"({rs1}))'
    return f'__asm__(".insn r {opcode}, {one.funct7}, %0, %1, %2" : {result} : "r"({rs1}), "r"({last}))'


def _macro(one: Instruction) -> str:
    pattern = one.pattern
    if pattern is None:
        return ""
    casts = ", ".join(f"(uint32_t)({name})" for name in pattern.given)
    return f"\n#define {pattern.macro}({', '.join(pattern.given)}) tw_own_{one.name}({casts})\n"
