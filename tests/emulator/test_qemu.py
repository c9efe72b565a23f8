"""Cortex-M in QEMU: what programs do and execute, and what is said where QEMU or a program fails."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng

from tests.targets.rv32.machine import run_on_board
from tests.targets.rv32.test_kernels import conv
from tilewright import targets
from tilewright.emulator import vector_timing
from tilewright.emulator.qemu import Qemu
from tilewright.emulator.qemu_machines import MACHINES, moved
from tilewright.emulator.qemu_process import PROGRAM
from tilewright.errors import CompileError, StackOverrun
from tilewright.target.settings import Settings
from tilewright.toolchain.compiler import BARE, find_cross_compiler

needs_qemu = pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"{PROGRAM} is not installed")

TURNS = 1000
COUNTED = 1 + 2 * TURNS
"""Instructions of `counted` below before it returns."""
PROGRAM_TEXT = f"""
    .syntax unified
    .thumb
    .section .vectors,"a",%progbits
    .word 0x21001000, start, fault, fault, fault, fault, fault
    .text
    .globl start
    .type start, %function
    .thumb_func
start:
    bl counted
    .globl back
    .thumb_func
back:
    BODY
    movs r0, #0x04
    ldr r1, =text
    bkpt 0xab
    movs r0, #0x20
    ldr r1, =reason
    bkpt 0xab
    .globl counted
    .type counted, %function
    .thumb_func
counted:
    movw r0, #{TURNS}
1:  subs r0, r0, #1
    bne 1b
    bx lr
    .globl broken
    .type broken, %function
    .thumb_func
broken:
    ldr r0, =0x0fff0000
    ldr r0, [r0]
    bx lr
    .type fault, %function
    .thumb_func
fault:
    b fault
    .balign 4
text: .asciz "done"
    .balign 4
reason: .word 0x20026, 7
    .globl tw_stack_start, tw_stack_end
    tw_stack_start = 0x21000000
    tw_stack_end = 0x21001000
"""
LAYOUT = "ENTRY(start) SECTIONS { .text 0x60000000 : { KEEP(*(.vectors)) *(.text) } }"


def program(folder: Path, body: str = "") -> Path:
    (folder / "program.S").write_text(PROGRAM_TEXT.replace("BODY", body))
    (folder / "program.ld").write_text(LAYOUT)
    flags = list(targets.find("cortex-m55").flags)
    find_cross_compiler().run([*flags, BARE, "-static", "-T", "program.ld", "program.S", "-o", "program.elf"], folder)
    return folder / "program.elf"


def machine() -> Qemu:
    return Qemu(targets.find("cortex-m55").platform)


@needs_qemu
def test_instructions_are_counted_exactly(tmp_path: Path) -> None:
    with machine() as qemu:
        elf = qemu.load(program(tmp_path))
        qemu.probe((), metered=(elf.symbols["counted"], elf.symbols["back"]))
        report = qemu.run()
        before, after = qemu.probes()
        assert after.instructions - before.instructions == COUNTED + 1
        assert (report.exit_code, report.stdout) == (7, "done")
        assert qemu.read("text", 4) == b"done"
        process = qemu._process._process.pid
    assert not Path(f"/proc/{process}").exists() or os.name != "posix"


@needs_qemu
def test_runs_to_places_and_writes_memory(tmp_path: Path) -> None:
    with machine() as qemu:
        qemu.load(program(tmp_path))
        assert qemu.run_until("counted")
        before = qemu.activity().counts["instructions"]
        qemu.write("text", b"gone")
        assert qemu.run_until("back")
        assert qemu.activity().counts["instructions"] - before == COUNTED + 1
        assert qemu.argument(0) == 0
        assert qemu.run().stdout == "gone"


@needs_qemu
def test_faults_and_endless_loops_are_reported_with_their_function(tmp_path: Path) -> None:
    with machine() as qemu:
        qemu.load(program(tmp_path, "bl broken"))
        with pytest.raises(CompileError, match=r"in broken\+0x2: the core faulted: .*address 0x0fff0000"):
            qemu.run()
    with machine() as qemu:
        qemu.load(program(tmp_path, "1: b 1b"))
        with pytest.raises(CompileError, match="in back: the program has not ended after"):
            qemu.run(1_000_000)


@needs_qemu
def test_a_stack_that_is_too_small_is_named(tmp_path: Path) -> None:
    with machine() as qemu:
        qemu.load(program(tmp_path, "sub sp, #0x1000\npush {r0, r1}"))
        with pytest.raises(StackOverrun, match="the stack of 4096 bytes is too small"):
            qemu.run()


@needs_qemu
def test_a_qemu_that_dies_is_reported(tmp_path: Path) -> None:
    with machine() as qemu:
        qemu.load(program(tmp_path))
        qemu._process._process.kill()
        with pytest.raises(CompileError, match="ended with code -9"):
            qemu.run()


@needs_qemu
def test_both_emulators_agree() -> None:
    """Outputs are held to numpy's in either; instructions are the same."""
    cases = [conv(default_rng(3), "half_even")]
    ran = [run_on_board(cases, Settings(emulator=name), target="cortex-m4")[1] for name in ("unicorn", "qemu")]
    assert ran[0].instructions == ran[1].instructions


@pytest.mark.fast
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CompileError, match="is not installed") as error:
        machine()
    assert "apt install qemu-system-arm" in error.value.hint
    with pytest.raises(CompileError, match="QEMU has no such board"):
        moved(targets.find("cortex-m0plus").platform)


@pytest.mark.fast
def test_memories_lie_where_the_board_has_them() -> None:
    for core, board in MACHINES.items():
        for memory in moved(targets.find(core).platform).memories:
            assert any(
                home.base == memory.base and home.size >= memory.size
                for home in board.memories
                if home.name == memory.name
            )


@pytest.mark.fast
def test_bound_of_a_vector_loop() -> None:
    """A load and a product overlap; the end of the loop costs nothing."""
    halves = [0xED10, 0x1E00, 0xEEF0, 0x0E00, 0xF00F, 0xC009]  # vldrb.u8 q0, [r0]; vmlava.s8; le
    cost = vector_timing.block_cost(np.array(halves, "<u2").tobytes())
    assert (cost.instructions, cost.cycles, cost.leaving) == (3, 3, 0)
