"""The sanitizer: found when asked for, nothing found in a good program, cycles unchanged."""

from __future__ import annotations

import struct

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, built, elf_bytes, elf_of
from tilewright.errors import CompileError
from tilewright.sim.program.elf import Elf, parse_elf
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
    assert error.what == "reads 4 bytes at 0x10020000, which is uninitialised"
    assert "in cluster_main" in error.where


def test_write_to_code() -> None:
    error = error_of("*(volatile short *)share = 1")
    assert error.what.startswith("writes 2 bytes at 0x1c01")
    assert error.what.endswith("which is code or a constant")


@pytest.mark.parametrize(
    ("access", "found"),
    [
        ("REG(0x100001f0u) = 1", "writes 4 bytes at 0x100001f0, where a DMA transfer is in flight"),
        ("(void)REG(0x100003fcu)", "reads 4 bytes at 0x100003fc, where a DMA transfer is in flight"),
    ],
)
def test_access_to_what_the_dma_moves(access: str, found: str) -> None:
    assert error_of(f"(void)REG(0x10204400); {START}; {access}").what == found


SET_UP = "REG(0x1a102000) = -1; H(0x100) = 4; H(0x120) = 0"
HYPER_READ = f"{SET_UP}; H(0x18) = 4; H(0x1c) = 0; H(4) = 64; H(0) = {{to}}; H(8) = 16"
WAIT = "while (REG(0x10204404) & 0xffff) {}"
HYPER_WAIT = "while (H(0x24) & 1) {}"


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (
            f"(void)DMA; DMA = 64 | 3 << 17; DMA = 0; DMA = 0x1c1f0000; {WAIT}; (void)REG(0x1000003c)",
            "reads 4 bytes at 0x1000003c, which is uninitialised",
        ),
        (
            f"(void)DMA; DMA = 64 | 1 << 18; DMA = 0x8000; DMA = 0x1c1f0000; {WAIT}; (void)REG(0x1c1f0000)",
            "reads 4 bytes at 0x1c1f0000, which is uninitialised",
        ),
        (
            f"{HYPER_READ.format(to='0x1c1f0000')}; {HYPER_WAIT}; (void)REG(0x1c1f0000)",
            "reads 4 bytes at 0x1c1f0000, which is uninitialised",
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
READ_SOME = TRANSFER.format(set_up=4, size=64, to="0x1c1f0000", start=8)
OFFSET = "(void)N(4); N(0x20 + 4 * 21) = -128; N(0x20 + 4 * 23) = {configuration}; N(0) = 0"
OPEN = f"{SET_UP}; {TRANSFER}"


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("(void)REG(0x10200008)", "reads which cores are started"),
        ("(void)REG(0x10200040)", "reads a register that can only be written"),
        ("(void)*(volatile unsigned char *)0x10204000", "accesses a register of a device with less than 32 bits"),
        ("*(volatile unsigned short *)0x1a10f000 = 65", "accesses a register of a device with less than 32 bits"),
        *((f"(void)E({at})", "reads a register that can only be written") for at in (4, 8, 0x28, 0x84, 0x104, 0x210)),
        *((f"E({at}) = 1", "writes a register that can only be read") for at in (0x1C, 0x20, 0x3C, 0x208, 0x21C)),
        *((f"E({at}) = 1", "uses a register of the event unit") for at in (0x18, 0xD0, 0x140, 0x180, 0x320)),
        ("E(0x84) = 2" + "; E(0x80) = 0" * 9, "dispatches work where some core has still to take the eighth one"),
        ("DMA = 64 | 3 << 17; DMA = 0; DMA = (unsigned)data", "gives the DMA a command without a transfer id"),
        ("(void)N(0)", "reads a register that can only be written"),
        *((f"N({at}) = 0", "writes a register that can only be read") for at in (4, 0xC, 0x10)),
        ("(void)DMA; DMA = 0 | 3 << 17; DMA = 0; DMA = (unsigned)data", "gives the DMA a command of no bytes"),
        (
            "(void)DMA; DMA = 100 | 7 << 17; DMA = 0; DMA = (unsigned)data; DMA = 64; DMA = 128",
            "gives the DMA a command",
        ),
        ("N(0x20) = 0", "writes to a job of N-EUREKA that it has not acquired"),
        ("N(0) = 0", "writes to a job of N-EUREKA that it has not acquired"),
        ("N(0x14) = 0", "clears N-EUREKA"),
        (JOB.format(tiles=0x10001, configuration="1 << 8"), "gives N-EUREKA a job in a mode"),
        (JOB.format(tiles=0x10001, configuration="1 << 11"), "gives N-EUREKA a job in a mode"),
        (OFFSET.format(configuration="0"), "gives N-EUREKA a job with an offset of the weights"),
        (JOB.format(tiles=0x10001, configuration="1 << 10"), "gives N-EUREKA a job that fetches weights of L1 ahead"),
        (JOB.format(tiles=0x10001, configuration="1 << 14"), "gives N-EUREKA a job that adds to results"),
        (JOB.format(tiles=0x20001, configuration="1 << 5"), "gives N-EUREKA a depthwise job"),
        (READ_SOME, "uses the HyperRAM before the clock"),
        (f"REG(0x1a102000) = -1; {READ_SOME}", "uses the HyperRAM with pages"),
        (f"{SET_UP}; H(0x120) = 1; {READ_SOME}", "uses the HyperRAM with pages, or while flash is selected"),
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
        "-DE(offset)=REG(0x10204000 + (offset))",
        "-DN(offset)=REG(0x10201000 + (offset))",
        "-DH(offset)=REG(0x1a102280 + (offset))",
    )
    assert error_of(fault, *places).what.startswith(found)


JUMPS = """
    *(volatile unsigned *)0x10001000 = 0x00008067; barrier();
    if ({who}) ((void (*)(void))0x10001000)()"""
"""All cores come by here; some of them go to a return in L1."""


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("who", "is_found"), [("core == 3", False), ("core == 3 || core == 5", True), ("1", True)])
def test_code_in_l1_is_for_one_core(who: str, is_found: bool) -> None:
    """Of several the chip's public simulator refuses all but one."""
    with Simulator("siracusa") as simulator:
        simulator.check(misuse=True)
        simulator.load(built("sum.c", f"-DEVERYONE={' '.join(JUMPS.format(who=who).split())}"))
        if not is_found:
            assert simulator.run(1_000_000).exit_code == 0
            return
        with pytest.raises(CompileError) as caught:
            simulator.run(1_000_000)
    assert caught.value.what == (
        "runs code in L1, as another core has: lines come through one port, and the chip's public simulator refuses a "
        "second core's"
    )
    assert caught.value.where.startswith("cluster ")
    assert "pc 0x10001000" in caught.value.where
    assert caught.value.hint == (
        "keep code in L2 or in the weight memory (leave --code-in-l1 out), or let one core run it"
    )


def with_header(address: int, load_address: int, size: int) -> Elf:
    """A program of one instruction in L2 and a second program header, which fills nothing."""
    data = bytearray(elf_bytes(FOREVER, base=0x1C01_0000))
    headers = data[52:84] + struct.pack("<IIIIIIII", 1, 0, address, load_address, 0, size, 6, 4)
    struct.pack_into("<I", data, 28, len(data))
    struct.pack_into("<H", data, 44, 2)
    return parse_elf(bytes(data + headers), "program.elf")


@pytest.mark.parametrize(
    ("address", "load_address", "size", "covered"),
    [
        (0x1000_0000, 0x1000_0000, 0x100, "0x10000000..0x10000100"),
        (0x1000_0000, 0x1000_0000, 0, "0x10000000..0x10000000"),
        (0x1003_FFF0, 0x1C02_0000, 0x20, "0x1003fff0..0x10040010"),
        (0x1C02_0000, 0x1000_1000, 0x10, "0x10001000..0x10001010"),
        (0x1C02_0000, 0x1C02_0000, 0x100, ""),
        (0x1C02_0000, 0x1C02_0000, 0, ""),
        (0x1004_0000, 0x1004_0000, 0, ""),
    ],
)
def test_program_headers_that_cover_l1(address: int, load_address: int, size: int, covered: str) -> None:
    elf = with_header(address, load_address, size)
    with Simulator("siracusa") as simulator:
        simulator.check(misuse=True)
        if not covered:
            simulator.load(elf)
            return
        with pytest.raises(CompileError) as caught:
            simulator.load(elf)
    assert caught.value.where == "program.elf"
    assert caught.value.what == (
        f"has a program header for {covered}, in l1, at which the chip's public simulator hangs before the program "
        "begins"
    )
    assert caught.value.hint == "name PHDRS in the linker script, and put :NONE after the sections there"


def test_without_asking_headers_may_cover_l1() -> None:
    with Simulator("siracusa") as simulator:
        simulator.load(with_header(0x1000_0000, 0x1000_0000, 0x100))


ROWS_IN = "DMA = 2048 | 7 << 17; DMA = 0; DMA = (unsigned)data; DMA = 64; DMA = 128"
ROWS_OUT = "DMA = 2048 | 3 << 18; DMA = 0; DMA = (unsigned)data; DMA = 64; DMA = 128"


@pytest.mark.in_turns(5)
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
        with pytest.raises(CompileError, match="where a DMA transfer is in flight"):
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
        with pytest.raises(CompileError, match="which is uninitialised"):
            simulator.run(1000)
        simulator.restore(saved)
        simulator.set_register(0, "a5", 1)
        assert simulator.run(1000).exit_code == 0


def test_without_asking_nothing_is_found() -> None:
    unwritten = f"li a0, {BASE + 0x100}\n lw a1, 0(a0)"
    with Simulator("rv32") as simulator:
        simulator.load(elf_of(assemble(f"{unwritten}\n {LEAVE}")))
        assert simulator.run(1000).exit_code == 0
