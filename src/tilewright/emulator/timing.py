"""Cycles of a block of Thumb instructions, from the core's manual (docs/cortex_m.md has the sources).

Cortex-M4, r0p1, "Instruction set summary": loads and stores beside each other share their address phases; a branch that
is taken refills the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilewright.emulator.counting import BlockCost

if TYPE_CHECKING:
    from capstone import Cs, CsInsn

REFILL = 2
"""Cycles of a branch that is taken beyond its own, of the 1 to 3 that the manual gives."""
DIVISION = 7
"""Of 2 to 12."""
MEMORY = ("ldr", "str", "vldr", "vstr")
SEVERAL = ("ldm", "stm", "push", "pop", "vldm", "vstm", "vpush", "vpop", "ldrd", "strd")
FLOATS = {"vdiv": 14, "vsqrt": 14, "vmla": 3, "vmls": 3, "vfma": 3, "vfms": 3, "vnmla": 3, "vnmls": 3}
BRANCHES = ("b", "bl", "bx", "blx", "cbz", "cbnz", "tbb", "tbh")


def disassembler() -> Cs:
    from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs

    return Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8)


def block_cost(code: bytes, address: int, decoder: Cs) -> BlockCost:
    instructions = list(decoder.disasm(code, address))
    return BlockCost(len(instructions), sum(_cycles(instructions)), REFILL)


def _cycles(instructions: list[CsInsn]) -> Iterator[int]:
    after_memory = False
    for one in instructions:
        name = one.mnemonic.split(".")[0]
        single = name.startswith(MEMORY) and not name.startswith(SEVERAL)
        if single:
            yield 1 if after_memory else 2
        elif name.startswith(SEVERAL):
            yield 1 + _registers(one)
        elif name.startswith(("sdiv", "udiv")):
            yield DIVISION
        else:
            yield FLOATS.get(name, 1)
        after_memory = single


def _registers(one: CsInsn) -> int:
    if one.mnemonic.startswith(("ldrd", "strd")):
        return 2
    listed = one.op_str[one.op_str.find("{") + 1 : one.op_str.find("}")]
    return len(listed.split(","))
