"""The sanitizer: found when asked for, nothing found in a good program, cycles unchanged."""

from __future__ import annotations

import pytest

from tests.sim.assembling import BASE, assemble, built, elf_of
from tilewright.errors import CompileError
from tilewright.sim.simulator import Simulator

LEAVE = "li a0, 0x1a1040a0\n lui a1, 0x80000\n sw a1, 0(a0)"
START = "REG(0x10204400) = 1024 | 3 << 17; REG(0x10204400) = 0; REG(0x10204400) = (unsigned)data"


def error_of(fault: str, *flags: str) -> CompileError:
    with Simulator("siracusa") as simulator:
        simulator.check(unwritten=True, protected=True, transfers=True, misuse=True)
        simulator.load(built("sum.c", f"-DFAULT={fault}", *flags))
        with pytest.raises(CompileError) as caught:
            simulator.run(1_000_000)
    return caught.value


def test_a_good_program_passes_with_the_same_cycles() -> None:
    with Simulator("siracusa") as plain, Simulator("siracusa") as checked:
        checked.check(unwritten=True, protected=True, transfers=True, misuse=True)
        plain.load(built("sum.c"))
        checked.load(built("sum.c"))
        first, second = plain.run(), checked.run()
    assert (first.cycles, first.exit_code) == (second.cycles, second.exit_code)


def test_read_of_never_written_memory() -> None:
    error = error_of("(void)REG(0x10020000u)")
    assert error.what == "reads 4 bytes at 0x10020000, which nobody has written"
    assert "in cluster_main" in error.where


def test_write_to_code() -> None:
    error = error_of("*(volatile short *)share = 1")
    assert error.what.startswith("writes 2 bytes at 0x1c01")
    assert error.what.endswith("which is code or a constant")


@pytest.mark.parametrize(
    ("access", "found"),
    [
        ("REG(0x100001f0u) = 1", "writes 4 bytes at 0x100001f0, where a DMA transfer is under way"),
        ("(void)REG(0x100003fcu)", "reads 4 bytes at 0x100003fc, where a DMA transfer is under way"),
    ],
)
def test_access_to_what_the_dma_moves(access: str, found: str) -> None:
    assert error_of(f"(void)REG(0x10204400); {START}; {access}").what == found


HYPER_READ = "REG(0x1a102000) = -1; H(0x18) = 4; H(0x1c) = 0; H(4) = 64; H(0) = {to}; H(8) = 16"
WAIT = "while (REG(0x10204404) & 0xffff) {}"
HYPER_WAIT = "while (H(0x24) & 1) {}"


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (
            f"(void)DMA; DMA = 64 | 3 << 17; DMA = 0; DMA = 0x1c1f0000; {WAIT}; (void)REG(0x1000003c)",
            "reads 4 bytes at 0x1000003c, which nobody has written",
        ),
        (
            f"(void)DMA; DMA = 64 | 1 << 18; DMA = 0x8000; DMA = 0x1c1f0000; {WAIT}; (void)REG(0x1c1f0000)",
            "reads 4 bytes at 0x1c1f0000, which nobody has written",
        ),
        (
            f"{HYPER_READ.format(to='0x1c1f0000')}; {HYPER_WAIT}; (void)REG(0x1c1f0000)",
            "reads 4 bytes at 0x1c1f0000, which nobody has written",
        ),
        (f"{HYPER_READ.format(to='0x1c1f0000')}; REG(0x1c1f0020) = 1", "writes 4 bytes at 0x1c1f0020, where a DMA"),
        (f"{HYPER_READ.format(to='0x1c010000')}; {HYPER_WAIT}", "writes 1 byte at 0x1c010000, which is code"),
        (f"(void)DMA; DMA = 8 | 1 << 18; DMA = 0; DMA = 0x1c010000; {WAIT}", "writes 8 bytes at 0x1c010000, which is"),
    ],
)
def test_what_goes_wrong_by_way_of_a_transfer(fault: str, found: str) -> None:
    error = error_of(fault, "-DDMA=REG(0x10204400)", "-DH(offset)=REG(0x1a102280 + (offset))")
    assert error.what.startswith(found)
    assert error.where.startswith("cluster 0, cycle ")
    assert "(sum.c:" in error.where


JOB = "(void)N(4); N(0x20 + 4 * 18) = {tiles}; N(0x20 + 4 * 23) = {configuration}; N(0) = 0"
TRANSFER = "H(0x18) = {set_up}; H(4) = {size}; H(0) = {to}; H({start}) = 16"
OPEN = f"REG(0x1a102000) = -1; {TRANSFER}"


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("(void)REG(0x10200008)", "reads which cores are started"),
        ("(void)DMA; DMA = 0 | 3 << 17; DMA = 0; DMA = (unsigned)data", "gives the DMA a command of no bytes"),
        (
            "(void)DMA; DMA = 100 | 7 << 17; DMA = 0; DMA = (unsigned)data; DMA = 64; DMA = 128",
            "gives the DMA a command",
        ),
        ("N(0x20) = 0", "writes to a job of N-EUREKA that it has not acquired"),
        ("N(0) = 0", "writes to a job of N-EUREKA that it has not acquired"),
        ("N(0x14) = 0", "clears N-EUREKA"),
        (JOB.format(tiles=0x10001, configuration="1 << 8"), "gives N-EUREKA a job in a mode"),
        (JOB.format(tiles=0x10001, configuration="1 << 10"), "gives N-EUREKA a job that fetches weights of L1 ahead"),
        (JOB.format(tiles=0x10001, configuration="1 << 14"), "gives N-EUREKA a job that adds to results"),
        (JOB.format(tiles=0x20001, configuration="1 << 5"), "gives N-EUREKA a depthwise job"),
        (TRANSFER.format(set_up=4, size=64, to="0x1c1f0000", start=8), "uses the HyperRAM before the clock"),
        (OPEN.format(set_up=4, size=0, to="0x1c1f0000", start=8), "gives the HyperRAM a transfer of no bytes"),
        (OPEN.format(set_up=0, size=64, to="0x1c1f0000", start=8), "gives the HyperRAM a transfer whose set-up"),
        (OPEN.format(set_up=4, size=64, to="0x1c1f0000", start="0x14"), "gives the HyperRAM a transfer whose set-up"),
        (OPEN.format(set_up=4, size=64, to="0x10400000", start=8), "gives the HyperRAM a transfer with a memory"),
        (OPEN.format(set_up=4, size=1024, to="0x1c1f0000", start=8) + "; H(8) = 16" * 8, "gives the HyperRAM a ninth"),
    ],
)
def test_devices_that_are_misused(fault: str, found: str) -> None:
    places = (
        "-DDMA=REG(0x10204400)",
        "-DN(offset)=REG(0x10201000 + (offset))",
        "-DH(offset)=REG(0x1a102280 + (offset))",
    )
    assert error_of(fault, *places).what.startswith(found)


ROWS_IN = "DMA = 2048 | 7 << 17; DMA = 0; DMA = (unsigned)data; DMA = 64; DMA = 128"
ROWS_OUT = "DMA = 2048 | 3 << 18; DMA = 0; DMA = (unsigned)data; DMA = 64; DMA = 128"


@pytest.mark.parametrize(
    ("rows", "access", "is_found"),
    [
        (ROWS_IN, "data[(128 * 31 + 60) / 4] = 1", True),
        (ROWS_IN, "data[(128 * 31 + 64) / 4] = 1", False),
        (ROWS_IN, "data[(128 * 20 - 4) / 4] = 1", False),
        (ROWS_IN, "(void)*(volatile unsigned *)&data[128 * 31 / 4]", False),
        (ROWS_OUT, "(void)*(volatile unsigned *)&data[128 * 31 / 4]", True),
        (ROWS_OUT, "(void)*(volatile unsigned *)&data[(128 * 30 + 60) / 4]", True),
        (ROWS_OUT, "(void)*(volatile unsigned *)&data[(128 * 30 + 64) / 4]", False),
        (ROWS_OUT, "REG(0x100007fcu) = 1", True),
    ],
)
def test_rows_of_a_transfer(rows: str, access: str, is_found: bool) -> None:
    """32 rows of 64 bytes; what lies between them belongs to nobody."""
    program = f'-DFAULT=(void)DMA; {rows}; {access}; __asm__ volatile("" : : : "memory")'
    with Simulator("siracusa") as simulator:
        simulator.check(transfers=True)
        simulator.load(built("sum.c", "-DDMA=REG(0x10204400)", program))
        if not is_found:
            assert simulator.run(1_000_000).exit_code == 0
            return
        with pytest.raises(CompileError, match="where a DMA transfer is under way"):
            simulator.run(1_000_000)


def test_reading_the_source_of_a_transfer_is_fine() -> None:
    fault = f"(void)REG(0x10204400); {START}; (void)*(volatile unsigned *)data"
    with Simulator("siracusa") as simulator:
        simulator.check(transfers=True)
        simulator.load(built("sum.c", f"-DFAULT={fault}"))
        assert simulator.run(1_000_000).exit_code == 0


def test_snapshots_keep_what_has_been_written() -> None:
    """What was written after the snapshot has not been written after going back to it."""
    read, write = f"li a0, {BASE + 0x100}\n lw a1, 0(a0)", f"li a0, {BASE + 0x100}\n sw a0, 0(a0)"
    with Simulator("rv32") as simulator:
        simulator.check(unwritten=True)
        simulator.load(elf_of(assemble(f"beqz a5, 1f\n {write}\n 1: nop\n {read}\n {LEAVE}")))
        saved = simulator.snapshot()
        simulator.set_register(0, "a5", 1)
        assert simulator.run(1000).exit_code == 0
        simulator.restore(saved)
        with pytest.raises(CompileError, match="which nobody has written"):
            simulator.run(1000)
        simulator.restore(saved)
        simulator.set_register(0, "a5", 1)
        assert simulator.run(1000).exit_code == 0


def test_without_asking_nothing_is_found() -> None:
    unwritten = f"li a0, {BASE + 0x100}\n lw a1, 0(a0)"
    with Simulator("rv32") as simulator:
        simulator.load(elf_of(assemble(f"{unwritten}\n {LEAVE}")))
        assert simulator.run(1000).exit_code == 0
