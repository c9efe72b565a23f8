"""The simulator as an object: run, stop, look inside, go back, account."""

from __future__ import annotations

import dataclasses

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, built, elf_of
from tilewright.sim.platforms.manycore import manycore
from tilewright.sim.program.elf import Segment
from tilewright.sim.simulator import Simulator

TOTAL = sum(i * i for i in range(1024))


@pytest.fixture
def simulator() -> Simulator:
    simulator = Simulator("siracusa")
    simulator.load(built("sum.c"))
    return simulator


def test_runs_to_the_exit(simulator: Simulator) -> None:
    report = simulator.run(10_000_000)
    assert (report.exit_code, report.stdout) == (0, "done\n")
    assert simulator.read_word("total") == TOTAL
    assert report.device_bytes["l2"][0] == 4096
    assert report.busy["dma"] >= 512
    assert report.core_bytes["l1"] >= 4096
    assert [core.name for core in report.cores[:2]] == ["cluster 0", "cluster 1"]


def test_cycles_are_accounted_for(simulator: Simulator) -> None:
    for core in simulator.run(10_000_000).cores:
        assert core.instructions + sum(core.stalls.values()) == core.cycles, core


@pytest.mark.parametrize(("line", "hears"), [(16, 0), (17, 1), (18, 1)])
def test_cycles_are_accounted_for_through_sleep(line: int, hears: int) -> None:
    with Simulator("siracusa") as simulator:
        simulator.load(built("events.c", f"-DLINE={line}", f"-DHEARS={hears}"))
        for core in simulator.run(10_000_000).cores:
            assert core.instructions + sum(core.stalls.values()) == core.cycles, core


def test_same_cycles_every_time() -> None:
    cycles = set()
    for _ in range(2):
        with Simulator("siracusa") as fresh:
            fresh.load(built("sum.c"))
            cycles.add(fresh.run().cycles)
    assert len(cycles) == 1


def test_stops_at_a_function_on_every_core(simulator: Simulator) -> None:
    seen = []
    while hit := simulator.run_to_breakpoint(["share"]):
        core, pc = hit
        assert pc == simulator.address("share") == simulator.register(core, "pc")
        assert simulator.register(core, "a0") == core
        seen.append(core)
    assert sorted(seen) == list(range(8))
    assert simulator.exit_code == 0


def test_run_until_function_or_cycle(simulator: Simulator) -> None:
    assert simulator.run_until(cycle=500)
    assert simulator.cycle >= 500
    assert simulator.run_until("share", core=3)
    assert simulator.register(3, "pc") == simulator.address("share")
    assert not simulator.run_until("_start")


def test_snapshot_goes_back(simulator: Simulator) -> None:
    simulator.run_until("share")
    saved = simulator.snapshot()
    first = simulator.run()
    simulator.restore(saved)
    assert simulator.cycle == saved.cycle
    simulator.write("total", (5).to_bytes(4, "little"))
    second = simulator.run()
    assert (first.exit_code, second.exit_code) == (0, 1)
    assert simulator.read_word("total") == TOTAL + 5


def test_going_back_to_the_end(simulator: Simulator) -> None:
    first = simulator.run()
    simulator.restore(simulator.snapshot())
    assert simulator.report() == first


def test_every_byte_of_memory_goes_back() -> None:
    """Of blocks that were zeros and of others, at the ends and inside, whatever was written meanwhile."""
    with Simulator("siracusa") as simulator:
        memories = [memory for memory in simulator.platform.memories if memory.is_mapped]
        for memory in memories:
            simulator.write(memory.base + memory.size - 9, b"last byte")
            simulator.write(memory.base + 4090, bytes(range(1, 20)))
        saved = simulator.snapshot()
        before = [simulator.read(memory.base, memory.size) for memory in memories]
        for memory in memories:
            for at in (0, 1, 4095, 4096, memory.size // 2, memory.size - 5):
                simulator.write(memory.base + at, b"later")
        simulator.restore(saved)
        assert [simulator.read(memory.base, memory.size) for memory in memories] == before
        assert len(saved.state) < 1 << 20


def test_data_is_loaded_where_the_program_copies_it_from() -> None:
    """Used at one address, loaded at another one; zeros behind it are where they are used."""
    segment = Segment(BASE + 0x2000, BASE + 0x1000, b"data", 8)
    elf = elf_of(FOREVER)
    with Simulator("rv32") as simulator:
        simulator.write(BASE + 0x2000, b"????????")
        simulator.load(dataclasses.replace(elf, segments=(*elf.segments, segment)))
        assert simulator.read(BASE + 0x1000, 4) == b"data"
        assert simulator.read(BASE + 0x2000, 8) == b"????\0\0\0\0"


def test_going_back_changes_no_cycle(simulator: Simulator) -> None:
    with Simulator("siracusa") as plain:
        plain.load(built("sum.c"))
        expected = plain.run()
    for cycle in range(100, expected.cycles, 997):
        simulator.run_until(cycle=cycle)
        saved = simulator.snapshot()
        simulator.run_until(cycle=cycle + 2000)
        simulator.restore(saved)
    assert simulator.run() == expected


def test_registers_and_memory_can_be_set() -> None:
    code = assemble("add a0, a1, a2\n sw a0, 0(a3)")
    with Simulator("rv32") as simulator:
        simulator.load(elf_of(code + FOREVER))
        for name, value in {"a1": 40, "x12": 2, "a3": BASE + 0x100}.items():
            simulator.set_register(0, name, value)
        simulator.run_until(BASE + len(code))
        assert simulator.read_word(BASE + 0x100) == simulator.register(0, "a0") == 42


@pytest.mark.parametrize("cores", [1, 8, 64, 200, 1024])
def test_any_number_of_cores(cores: int) -> None:
    """Every core adds its number with an atomic; the last one to arrive ends the run."""
    source = f"""
        csrr a0, mhartid
        li a1, {BASE + 0x1000}
        amoadd.w zero, a0, (a1)
        addi a1, a1, 64
        li a2, 1
        amoadd.w a3, a2, (a1)
        li a4, {cores - 1}
        bne a3, a4, 1f
        li a5, 0x1a1040a0
        li a6, 0x80000000
        sw a6, 0(a5)
    1:  wfi
        j 1b
    """
    with Simulator(manycore(cores)) as simulator:
        simulator.load(elf_of(assemble(source)))
        report = simulator.run(1_000_000)
        assert report.exit_code == 0
        assert simulator.read_word(BASE + 0x1000) == cores * (cores - 1) // 2


def test_tohost_ends_the_run() -> None:
    elf = elf_of(assemble(f"li a0, {BASE + 0x800}\n li a1, 7\n sw a1, 0(a0)\n 1: j 1b"))
    elf = dataclasses.replace(elf, symbols={"tohost": BASE + 0x800})
    with Simulator("rv32") as simulator:
        simulator.load(elf)
        assert simulator.run(1000).exit_code == 3
