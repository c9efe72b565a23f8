"""Programs in the emulator: what they print, where they stop, and what is said of those that fail."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.emulator.assembling import CODE, EXIT, FLASH, RAM, STACK_END, loaded, program
from tests.sim.assembling import elf_bytes
from tilewright import targets
from tilewright.emulator.faults import Unfinished
from tilewright.emulator.machine import Emulator
from tilewright.errors import CompileError, StackOverrun
from tilewright.sim.platform import ReadPort
from tilewright.sim.program.elf import MACHINE_ARM, Elf

BOTH = ("cortex-m4", "cortex-m0plus")
PRINT = """
    movs r0, #4
    adr  r1, 1f
    bkpt 0xab
    b    2f
    .balign 4
1:  .asciz "hello\\n"
    .balign 4
2:
"""
CODE_OF_SEVEN = """
    movs r0, #0x20
    adr  r1, 1f
    bkpt 0xab
    .balign 4
1:  .word 0x20026, 7
"""


@pytest.mark.parametrize("core", BOTH)
def test_a_program_prints_and_ends(core: str, tmp_path: Path) -> None:
    with loaded(PRINT + EXIT, tmp_path, core) as emulator:
        report = emulator.run()
    assert (report.stdout, report.exit_code) == ("hello\n", 0)


def test_a_program_ends_with_a_code(tmp_path: Path) -> None:
    with loaded(CODE_OF_SEVEN, tmp_path) as emulator:
        assert emulator.run().exit_code == 7


def test_bytes_outside_of_all_memories(tmp_path: Path) -> None:
    with loaded(EXIT, tmp_path) as emulator:
        emulator.write(RAM, b"abcd")
        assert emulator.read(RAM, 4) == b"abcd"
        for used in (lambda: emulator.read(0x7000_0000, 4), lambda: emulator.write(0x7000_0000, b"abcd")):
            with pytest.raises(CompileError, match="0x70000000: 4 bytes there are not in one memory"):
                used()


CALLS = """
    movs r4, #3
1:  bl   2f
    subs r4, r4, #1
    bne  1b
    b    3f
2:  adds r5, r5, #1
    bx   lr
3:
"""


def test_the_core_comes_to_a_place_again_and_again(tmp_path: Path) -> None:
    """Also where that place was executed as any other before."""
    with loaded(CALLS + EXIT, tmp_path) as emulator:
        called, behind = CODE + 12, CODE + 6
        cycles = []
        for _ in range(3):
            assert emulator.run_until(called)
            cycles.append(emulator.cycle)
            assert emulator.run_until(behind)
        assert cycles[2] - cycles[1] == cycles[1] - cycles[0]
        assert not emulator.run_until(called)
        assert emulator.exit_code == 0


FAULTS = {
    "ldr r0, =0x40000000; ldr r1, [r0]": "reads 4 bytes at 0x40000000, where nothing is mapped",
    "ldr r0, =0x40000000; strh r1, [r0]": "writes 2 bytes at 0x40000000, where nothing is mapped",
    "ldr r0, =0x08000000; str r1, [r0]": "writes 4 bytes at 0x08000000, which is flash",
    "ldr r0, =0x40000001; bx r0": "branches to 0x40000000, where there is no code",
    "ldr r0, =0x08000010; bx r0": "branches to 0x08000010 as if it were Arm code",
    "udf #1; nop": "executes an instruction that",
    "nop; nop": "executes an instruction that",
    "bkpt 1; nop": "hits one that is not semihosting's 0xab",
    "svc 1; nop": "raises an exception",
    "b .; nop": "endless loop",
}
NAMES = {
    "reads": "BusFault (PRECISERR)", "writes": "BusFault (PRECISERR)", "goes": "BusFault (IBUSERR)",
    "jumps": "UsageFault (INVSTATE)", "comes to an": "UsageFault (UNDEFINSTR)",
}  # fmt: skip


def error_of(source: str, folder: Path, core: str = "cortex-m4") -> CompileError:
    with loaded(source.replace(";", "\n"), folder, core) as emulator, pytest.raises(CompileError) as caught:
        emulator.run(1_000_000)
    return caught.value


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("source", FAULTS)
def test_faults_are_named(source: str, tmp_path: Path) -> None:
    error = error_of(source, tmp_path)
    assert FAULTS[source] in error.what
    assert error.hint
    status = next((name for word, name in NAMES.items() if FAULTS[source].startswith(word)), "")
    assert status in error.what


def test_the_smallest_core_knows_one_fault_only(tmp_path: Path) -> None:
    assert error_of("ldr r0, =0x40000000; ldr r1, [r0]", tmp_path, "cortex-m0plus").what.startswith("HardFault: reads")


def test_the_smallest_core_takes_aligned_accesses_only(tmp_path: Path) -> None:
    source = "ldr r0, =0x20000001; ldr r1, [r0]" + EXIT
    assert "not a multiple" in error_of(source, tmp_path, "cortex-m0plus").what
    with loaded(source.replace(";", "\n"), tmp_path) as emulator:
        assert emulator.run().exit_code == 0


def test_instructions_of_a_larger_core_are_not_there(tmp_path: Path) -> None:
    path = program("udiv r0, r1, r2", tmp_path)
    with Emulator(targets.find("cortex-m0plus").platform) as emulator:
        emulator.load(path)
        with pytest.raises(CompileError) as caught:
            emulator.run()
    assert "an instruction that cortex-m0plus does not have" in caught.value.what


def test_floats_need_their_unit_on(tmp_path: Path) -> None:
    error = error_of("nop; vadd.f32 s0, s0, s0", tmp_path)
    assert "NOCP" in error.what
    assert f"{CODE + 2:#010x}" in error.where


def test_a_program_that_loops_is_stopped(tmp_path: Path) -> None:
    error = error_of("1: adds r0, #1; b 1b", tmp_path)
    assert isinstance(error, Unfinished)
    assert "has not ended after 1" in error.what


def test_a_stack_that_ends(tmp_path: Path) -> None:
    with loaded("1: push {r4, r5}\nb 1b", tmp_path) as emulator:
        assert emulator.elf is not None
        emulator.elf = replace(emulator.elf, symbols={"tw_stack_start": RAM, "tw_stack_end": STACK_END})
        with pytest.raises(StackOverrun, match="the stack of 4096 bytes is too small"):
            emulator.run()


def test_the_place_is_a_function(tmp_path: Path) -> None:
    with loaded("nop\nudf #0", tmp_path) as emulator:
        assert emulator.elf is not None
        emulator.elf = named(emulator.elf, "mine")
        with pytest.raises(CompileError, match=r"in mine\+0x2"):
            emulator.run()


def named(elf: Elf, name: str) -> Elf:
    return replace(elf, functions=((CODE, name),), symbols={name: CODE})


def test_a_file_without_vectors(tmp_path: Path) -> None:
    path = tmp_path / "x.elf"
    path.write_bytes(elf_bytes(bytes(16), FLASH, MACHINE_ARM))
    with Emulator(targets.find("cortex-m4").platform) as emulator, pytest.raises(CompileError, match="vector table"):
        emulator.load(path)


def test_a_file_for_another_chip(tmp_path: Path) -> None:
    path = tmp_path / "x.elf"
    path.write_bytes(elf_bytes(bytes(16), 0x3000_0000, MACHINE_ARM))
    with Emulator(targets.find("cortex-m4").platform) as emulator, pytest.raises(CompileError) as caught:
        emulator.load(path)
    assert "lies outside the memories of cortex-m4" in caught.value.what
    assert "flash 0x8000000..0x8200000" in caught.value.hint


@pytest.mark.parametrize("package", ["unicorn", "capstone"])
def test_what_is_missing_is_said(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CompileError, match=f"{package}.*is not installed") as caught:
        Emulator(targets.find("cortex-m4").platform)
    assert f"pip install '{package}" in caught.value.hint


def test_an_old_emulator_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import unicorn

    monkeypatch.setattr(unicorn, "uc_version", lambda: (1, 0, 3))
    with pytest.raises(CompileError, match=r"unicorn 1\.0.*too old"):
        Emulator(targets.find("cortex-m4").platform)


LOOP = """
    ldr  r1, =0x08000000
    movs r0, #64
1:  ldr  r2, [r1]
    adds r1, r1, #4
    subs r0, r0, #1
    bne  1b
"""


def cycles_with(port: ReadPort, folder: Path, wait: int = 4, source: str = LOOP) -> tuple[int, int]:
    """In all, and waiting for flash with that many wait states."""
    platform = targets.find("cortex-m4").platform
    memories = tuple(
        replace(one, latency={"cortex-m4": wait}, port=port) if one.is_flash else one for one in platform.memories
    )
    with loaded(source + EXIT, folder, platform=replace(platform, memories=memories)) as emulator:
        emulator.run()
        return emulator.total.cycles, emulator.total.waits


CACHED = ReadPort(16, True, 1024, 1024)


def test_without_wait_states_nothing_waits(tmp_path: Path) -> None:
    assert cycles_with(ReadPort(), tmp_path, wait=0)[1] == 0


def test_reads_of_flash_wait_for_each_or_for_each_line(tmp_path: Path) -> None:
    """The first word is not known to be flash: its address is made in the same block. One is read beside the code."""
    first = 4
    """Cycles for the first line of code; the others are read ahead or found in the cache."""
    assert cycles_with(CACHED, tmp_path)[1] == first + 4 * (63 * 4 + 4) // 16
    assert cycles_with(replace(CACHED, data_cache_bytes=0), tmp_path)[1] == first + 4 * (63 + 1)


AGAIN = """
    ldr  r1, =0x20000000
    ldr  r2, =0x08000000
    mov  r0, #2048
1:  ldr  r4, [r1]
    {then}
    subs r0, r0, #1
    bne  1b
"""
"""One block reads RAM first; what is done then may turn its pointer to flash."""
ALTERNATELY = "mov r3, r1\n mov r1, r2\n mov r2, r3"
LATER = "cmp r0, #1024\n it lt\n movlt r1, r2"


@pytest.mark.parametrize("then", [ALTERNATELY, LATER])
def test_a_block_that_reads_another_memory_is_looked_at_again(then: str, tmp_path: Path) -> None:
    port = replace(CACHED, data_cache_bytes=0)
    waits = cycles_with(port, tmp_path, source=AGAIN.format(then=then))[1]
    assert waits == pytest.approx(4 * 1024, rel=0.3)


def test_what_waits_is_named(tmp_path: Path) -> None:
    platform = targets.find("cortex-m4").platform
    memories = tuple(replace(one, latency={} if one.is_flash else {"cortex-m4": 3}) for one in platform.memories)
    with loaded(EXIT, tmp_path, platform=replace(platform, memories=memories)) as emulator:
        assert emulator.estimate.endswith(", 3 wait states for each 4 bytes of ram")
    with loaded(EXIT, tmp_path) as emulator:
        assert emulator.estimate.endswith(", no wait states")


FAR = """
    movs r0, #64
1:  b    2f
    .space 64
2:  subs r0, r0, #1
    bne  1b
"""


def test_jumps_wait_for_lines_that_are_not_cached(tmp_path: Path) -> None:
    beginning, jumps = 4, 4 * (2 * 64 - 1)
    assert cycles_with(replace(CACHED, instruction_cache_bytes=0), tmp_path, source=FAR)[1] >= beginning + jumps
    assert cycles_with(CACHED, tmp_path, source=FAR)[1] <= beginning + 4 * 3


def test_code_that_is_not_read_ahead_waits_for_each_line(tmp_path: Path) -> None:
    straight = "nop\n" * 64
    ahead, not_ahead = (cycles_with(ReadPort(16, prefetch), tmp_path, source=straight)[1] for prefetch in (True, False))
    assert not_ahead - ahead == 4 * 128 // 16


INDEXED = """
    ldr  r1, =0x08000000
    movs r0, #64
1:  movs r3, #0
    ldrsb r2, [r1, r3]
    adds r1, r1, #1
    subs r0, r0, #1
    bne  1b
"""


def test_reads_at_the_sum_of_a_pointer_and_a_number_wait(tmp_path: Path) -> None:
    """As cores without wide instructions address bytes."""
    assert cycles_with(replace(CACHED, data_cache_bytes=0), tmp_path, source=INDEXED)[1] >= 4 * 63
