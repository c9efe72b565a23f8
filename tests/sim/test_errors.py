"""What goes wrong, in words: where, what, and what to try."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.sim.assembling import BASE, assemble, built, elf_bytes, elf_of
from tilewright.errors import CompileError
from tilewright.sim.program.elf import Elf
from tilewright.sim.simulator import Simulator

WILD = "*(volatile int *)0x40000000 = 1"


def error_of(source: str, platform: str = "rv32", max_cycles: int = 100_000) -> CompileError:
    return run_error(elf_of(assemble(source)), platform, max_cycles)


def run_error(program: Elf | Path, platform: str, max_cycles: int = 1_000_000) -> CompileError:
    with Simulator(platform) as simulator:
        simulator.load(program)
        with pytest.raises(CompileError) as caught:
            simulator.run(max_cycles)
    return caught.value


def load_error(data: bytes, folder: Path) -> CompileError:
    (folder / "x.elf").write_bytes(data)
    with Simulator("rv32") as simulator, pytest.raises(CompileError) as caught:
        simulator.load(folder / "x.elf")
    return caught.value


def test_not_an_elf(tmp_path: Path) -> None:
    assert "is not an ELF file" in load_error(b"hello", tmp_path).what


def test_missing_file(tmp_path: Path) -> None:
    with Simulator("rv32") as simulator, pytest.raises(CompileError, match="cannot be read: No such file"):
        simulator.load(tmp_path / "none.elf")


def test_wrong_class(tmp_path: Path) -> None:
    data = bytearray(elf_bytes(b"\0" * 4))
    data[4] = 2
    assert load_error(bytes(data), tmp_path).what == "is 64-bit, little-endian"


def test_wrong_machine(tmp_path: Path) -> None:
    error = load_error(elf_bytes(b"\0" * 4, machine=40), tmp_path)
    assert error.what == "is for Arm (40), not for RISC-V (243)"
    assert "--platform cortex-m4" in error.hint
    error = load_error(elf_bytes(b"\0" * 4, machine=62), tmp_path)
    assert (error.what, error.hint) == ("is for machine 62, not for RISC-V (243)", "build for riscv32")


def test_not_linked(tmp_path: Path) -> None:
    assert "not linked" in load_error(elf_bytes(b"\0" * 4, kind=1), tmp_path).what


@pytest.mark.parametrize("size", [20, 60, 90])
def test_truncated(tmp_path: Path, size: int) -> None:
    assert "is truncated" in load_error(elf_bytes(b"\0" * 64)[:size], tmp_path).what


def test_segment_outside_memory(tmp_path: Path) -> None:
    error = load_error(elf_bytes(b"\0" * 4, base=0x1000), tmp_path)
    assert error.what == "segment 0x1000..0x1004 lies outside the memories of manycore1"
    assert "ram 0x80000000..0x80400000" in error.hint


def test_unknown_platform() -> None:
    with pytest.raises(CompileError, match="is not a platform") as caught:
        Simulator("nowhere")
    assert "siracusa" in caught.value.hint


def test_illegal_instruction() -> None:
    error = error_of("nop\n .word 0xffffffff")
    assert error.where.startswith("core, cycle ")
    assert f"pc {BASE + 2:#010x}" in error.where
    assert error.what == "illegal instruction"


def test_extension_of_the_other_encoding_is_illegal() -> None:
    word = struct.unpack("<I", assemble("cv.max a0, a1, a2", "+xcvalu"))[0]
    assert error_of(f".word {word}").what == "illegal instruction"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("lw a0, 0(zero)", "reads 4 bytes at 0x00000000, where nothing is mapped"),
        ("li a0, 0x1000\n sb a0, 3(a0)", "writes 1 byte at 0x00001003, where nothing is mapped"),
        (
            "li a0, 0x1a1040a2\n lw a1, 0(a0)",
            "reads 4 bytes at 0x1a1040a2, which is not aligned to it",
        ),
        ("jr zero", "runs into 0x00000000, where there is no memory"),
        ("ecall", "ecall without a trap handler"),
        ("ebreak", "ebreak without a trap handler"),
    ],
)
def test_faults(source: str, what: str) -> None:
    assert error_of(source).what == what


def test_a_trap_handler_gets_the_trap() -> None:
    source = """
        la t0, handler
        csrw mtvec, t0
        ecall
        .balign 4
    handler:
        csrr a0, mcause
        li a1, 0x1a1040a0
        li a2, 0x80000000
        or a0, a0, a2
        sw a0, 0(a1)
    """
    with Simulator("rv32") as simulator:
        simulator.load(elf_of(assemble(source)))
        assert simulator.run(1000).exit_code == 11


def test_deadlock() -> None:
    error = error_of("wfi")
    assert error.what.startswith("all cores are asleep and nothing can wake them:\n    core: asleep, pc 0x8000000")


def test_runaway() -> None:
    error = error_of("1: j 1b", max_cycles=5000)
    assert error.what.startswith("the program has not ended:\n    core: running")
    assert "max_cycles" in error.hint


def test_place_has_function_and_source_line() -> None:
    error = run_error(built("sum.c", f"-DFAULT={WILD}"), "siracusa")
    assert error.what == "writes 4 bytes at 0x40000000, where nothing is mapped"
    assert error.where.startswith("cluster 0, cycle ")
    assert "in cluster_main+0x" in error.where
    assert "(sum.c:" in error.where


def test_device_with_a_wrong_address() -> None:
    words = "64 | 3 << 17", "0", "0x50000000"
    fault = "*(volatile int *)0x10204400; " + "; ".join(f"REG(0x10204400) = {word}" for word in words)
    error = run_error(built("sum.c", f"-DFAULT={fault}; for (;;)"), "siracusa")
    assert error.what == "a device reads 64 bytes at 0x50000000, where there is no memory"


def test_unknown_symbol_and_register() -> None:
    with Simulator("rv32") as simulator:
        with pytest.raises(CompileError, match="is not a symbol"):
            simulator.read_word("nothing")
        with pytest.raises(CompileError, match="is not a register"):
            simulator.register(0, "r7")
