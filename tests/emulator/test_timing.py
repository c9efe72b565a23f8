"""Cycles of instructions, counted by hand from the cores' manuals and from what others have measured on chips."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.assembling import CODE, EXIT, assemble_each, loaded
from tilewright.emulator.decoding import Instruction, decoded, disassembler
from tilewright.emulator.timing import block_cost

STRAIGHT: dict[str, dict[str, int]] = {
    "cortex-m4": {
        "movs r0, #1; adds r0, r0, #2; lsls r0, r0, #3": 3,
        # The manual's own examples of loads that overlap.
        "ldr r0, [r1]; ldr r1, [r2]": 3,
        "ldr r0, [r1, r2]; str r0, [r3, #20]": 3,
        "ldr r0, [r1, r2]; str r1, [r3, r2]": 3,
        "ldr r0, [r1, r5]; ldr r1, [r2]; ldr r2, [r3, #4]": 4,
        # The address of the second is what the first loads, or changes.
        "ldr r0, [r1]; ldr r2, [r0]": 4,
        "ldrb r0, [r1], #1; ldrb r2, [r1], #1": 4,
        # Nothing overlaps a store; a store to a register and a number takes one cycle.
        "str r0, [r1, #4]; ldr r2, [r3]": 3,
        "str r0, [r1, r2]": 2,
        # An address is computed from the result before.
        "adds r1, r1, #4; ldr r0, [r1]": 4,
        "adds r1, r1, #4; nop; ldr r0, [r1]": 4,
        "ldmia r0!, {r1, r2, r3}": 4,
        "push {r4, r5, r6, lr}": 5,
        "ldrd r0, r1, [r2]": 3,
        "smlad r0, r1, r2, r0; smlal r0, r1, r2, r3; mla r4, r5, r6, r4": 3,
        "udiv r0, r1, r2": 7,
        # IT takes no time behind an instruction of 2 bytes.
        "cmp r0, #0; it eq; moveq r0, #1": 2,
        "cmp.w r0, #0; it eq; moveq r0, #1": 3,
        "vadd.f32 s0, s1, s2; vadd.f32 s3, s4, s5": 2,
        "vadd.f32 s0, s1, s2; vadd.f32 s3, s0, s5": 3,
        "vmul.f32 s0, s1, s2; vmla.f32 s0, s1, s2": 4,
        "vdiv.f32 s0, s1, s2": 14,
        "vldr s0, [r0]; vstr s0, [r1]": 4,
        "vldmia r0!, {s0-s3}; vpush {d8}": 8,
    },
    "cortex-m0plus": {
        "movs r0, #1; adds r0, r0, #2; muls r0, r1, r0": 3,
        "ldr r0, [r1]; ldr r1, [r2]": 4,
        "ldrb r0, [r1]; strb r0, [r2]": 4,
        "ldmia r0!, {r1, r2, r3}": 4,
        "push {r4, r5, lr}": 4,
        "mrs r0, primask": 3,
    },
    "cortex-m33": {
        "ldr r0, [r1]; ldr r1, [r2]": 2,
        "ldr r0, [r1]; adds r0, r0, #1": 3,
        "ldr r0, [r1]; str r0, [r2]": 2,
        "ldr r0, [r1]; nop; adds r0, r0, #1": 3,
        # A sum may be taken right away, a factor not.
        "ldr r0, [r1]; mla r0, r2, r3, r0": 2,
        "ldr r0, [r1]; mla r0, r0, r3, r2": 3,
        "mla r0, r1, r2, r0; mla r0, r3, r4, r0": 2,
        "mul r0, r1, r2; adds r0, r0, #1": 3,
        "ldmia r0!, {r1, r2, r3, r4}": 4,
        "cmp r0, #0; it eq; moveq r0, #1": 2,
    },
    "cortex-m7": {
        "adds r0, r0, #1; adds r1, r1, #1; adds r2, r2, #1; adds r3, r3, #1": 2,
        "adds r0, r0, #1; adds r0, r0, #1": 2,
        "ldr r0, [r1]; ldr r2, [r3]": 1,
        "str r0, [r1]; str r2, [r3]": 2,
        "mul r0, r1, r2; mul r3, r4, r5": 2,
        "mla r0, r1, r2, r0; mla r0, r3, r4, r0": 2,
        "mul r0, r1, r2; adds r0, r0, #1": 3,
        "ldmia r0!, {r1, r2, r3}": 2,
        "vfma.f32 s0, s1, s2; vfma.f32 s0, s3, s4": 4,
    },
}


def instructions(sources: list[str], core: str) -> list[list[Instruction]]:
    decoder = disassembler()
    pieces = assemble_each([source.replace(";", "\n") for source in sources], core)
    counts = [source.count(";") + 1 for source in sources]
    return [list(decoded(code, CODE, decoder))[:count] for code, count in zip(pieces, counts, strict=True)]


@pytest.mark.parametrize("core", STRAIGHT)
def test_straight_code(core: str) -> None:
    sources = list(STRAIGHT[core])
    found = {
        source: block_cost(block, core).cycles
        for source, block in zip(sources, instructions(sources, core), strict=True)
    }
    assert found == STRAIGHT[core]


def test_one_at_a_time_is_never_faster() -> None:
    for block in instructions(list(STRAIGHT["cortex-m7"]), "cortex-m7"):
        cost = block_cost(block, "cortex-m7")
        assert cost.cycles <= cost.most


JUMPS: dict[str, dict[str, tuple[int, int]]] = {
    # Cycles where the jump is not taken, and where it is.
    "cortex-m4": {"b .": (1, 2), "bl .": (1, 2), "bx lr": (1, 3), "pop {r4, pc}": (3, 6), "tbb [r0, r1]": (1, 6)},
    "cortex-m0plus": {"bne .": (1, 2), "bl .": (1, 3), "bx lr": (1, 2), "pop {r4, pc}": (3, 5)},
    "cortex-m33": {
        "subs r7, r7, #1; bne .": (1, 3), "add r0, r1; bne .": (1, 2), "subs.w r7, r7, #1; bne .": (2, 3),
    },
    "cortex-m7": {"subs r7, r7, #1; bne .": (1, 1)},
}  # fmt: skip


@pytest.mark.parametrize("core", JUMPS)
def test_jumps(core: str) -> None:
    sources = list(JUMPS[core])
    costs = [block_cost(block, core) for block in instructions(sources, core)]
    found = {source: (cost.cycles, cost.cycles + cost.leaving) for source, cost in zip(sources, costs, strict=True)}
    assert found == JUMPS[core]


def cycles_of(source: str, folder: Path, core: str) -> int:
    """From the first instruction to the exit, which is the same for all: its cycles are taken off."""
    with loaded(source + EXIT, folder, core) as program, loaded(EXIT, folder, core) as nothing:
        return program.run(1_000_000).cycles - nothing.run().cycles


POWER = """
    movs r0, #2
    movs r1, #3
    mov  r2, r0
    mov.w r0, #1
    {align}
1:  {first}
    subs r1, r1, #1
    cmp  r1, #0
    bne  1b
"""


def test_a_loop_that_was_measured_on_a_chip(tmp_path: Path) -> None:
    """Jumps take 2 cycles, and one more to an instruction of 4 bytes in two words (compendium.i-0.nl, STM32L4)."""
    narrow = cycles_of(POWER.format(first="add r0, r2", align=""), tmp_path, "cortex-m4")
    wide = cycles_of(POWER.format(first="mul r0, r0, r2", align=""), tmp_path, "cortex-m4")
    aligned = cycles_of(POWER.format(first="mul r0, r0, r2", align=".balign 4"), tmp_path, "cortex-m4")
    assert narrow == 4 + 3 * 4 + 2
    assert {wide, aligned} == {narrow, narrow + 2} or {wide, aligned} == {narrow + 1, narrow + 2}


NESTED = """
    movs r5, #1
    movs r0, #5
1:  movs r1, #7
2:  lsls r2, r5, #29
    ldr  r3, [r2]
    ldr  r4, [r2, #4]
    adds r3, r3, r4
    subs r1, r1, #1
    bne  2b
    subs r0, r0, #1
    bne  1b
"""


@pytest.mark.parametrize(
    ("core", "inner", "last", "jump"),
    [
        ("cortex-m4", 1 + (1 + 2) + 1 + 1 + 1 + 1, 1, 1),
        ("cortex-m0plus", 1 + 2 + 2 + 1 + 1 + 1, 1, 1),
        # The use of what was loaded waits; the jump is executed with the subtraction, but its flags are waited for.
        ("cortex-m33", 1 + 1 + 1 + (1 + 1) + 1 + 0, 0, 2),
    ],
)
def test_nested_loops(core: str, inner: int, last: int, jump: int, tmp_path: Path) -> None:
    """`last` is what the jump of the outer loop takes where it is not taken, `jump` what one takes more that is."""
    row = 1 + 7 * inner + 6 * jump + 1 + last
    assert cycles_of(NESTED, tmp_path, core) == 2 + 5 * row + 4 * jump


def test_nested_loops_in_pairs(tmp_path: Path) -> None:
    """lsls | two loads | adds and subs | bne; what stands before a loop is paired with its first instruction."""
    inner = 4
    assert cycles_of(NESTED, tmp_path, "cortex-m7") == 1 + 5 * (7 * inner + 1)
