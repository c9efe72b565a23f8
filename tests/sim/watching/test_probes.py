"""Probes: every passing is noted with the right cycle, and nothing changes by it."""

from __future__ import annotations

import struct

import pytest

from tests.sim.assembling import BASE, assemble, built, elf_of
from tests.sim.cv32e40p.test_instructions import addi, xpulp_setup
from tilewright.errors import CompileError
from tilewright.sim.platforms.manycore import manycore
from tilewright.sim.simulator import Simulator

LEAVE = "li a0, 0x1a1040a0\n lui a1, 0x80000\n sw a1, 0(a0)"


def loaded() -> Simulator:
    simulator = Simulator("siracusa")
    simulator.load(built("sum.c"))
    return simulator


def test_probing_changes_no_cycle() -> None:
    with loaded() as plain, loaded() as probed:
        start = probed.address("_start")
        probed.probe(range(start, start + 0x400, 2), cores=range(10))
        first, second = plain.run(), probed.run()
        assert len(probed.probes()) > 1000
    assert first == second


def test_events_agree_with_breakpoints() -> None:
    """Stopping at the same places gives the same cores, addresses and cycles."""
    with loaded() as stopped, loaded() as probed:
        expected = []
        while hit := stopped.run_to_breakpoint(["share"]):
            expected.append((stopped.cycle, *hit))
        probed.probe(["share"], cores=range(8))
        probed.run()
        assert sorted((e.cycle, e.core, e.address) for e in probed.probes()) == sorted(expected)
        assert len(expected) == 8


def test_the_cycle_is_that_of_the_counter() -> None:
    """With the code in the caches, a probe sees what an instruction that reads the cycle counter sees."""
    source = f"""
        li s0, 3
        li s1, {BASE + 0x800}
    1:  csrr a0, mcycle
        sw a0, 0(s1)
        lw a1, 0(s1)
        div a2, a1, s0
        addi s1, s1, 4
        addi s0, s0, -1
        bnez s0, 1b
        {LEAVE}
    """
    with Simulator(manycore(1)) as simulator:
        simulator.load(elf_of(assemble(source)))
        counter = BASE + len(assemble(f"li s0, 3\n li s1, {BASE + 0x800}"))
        simulator.probe([counter])
        simulator.run(10_000)
        events = simulator.probes()
        assert [e.cycle for e in events] == [simulator.read_word(BASE + 0x800 + 4 * i) for i in range(3)]
    first, second = events[1:]
    assert second.instructions - first.instructions == 7
    waited = {cause: second.stalls[cause] - first.stalls[cause] for cause in first.stalls}
    assert second.cycle - first.cycle == 7 + sum(waited.values())
    assert waited["load_use"] == 1
    assert waited["muldiv"] > 2


def test_only_the_given_cores_and_only_what_is_executed() -> None:
    with loaded() as simulator:
        simulator.probe(["share", "cluster_main", BASE], cores=(2, 5))
        simulator.run()
        names = {simulator.address(name): name for name in ("share", "cluster_main")}
        seen = [(e.core, names[e.address]) for e in simulator.probes()]
    assert sorted(seen) == [(c, name) for c in (2, 5) for name in ("cluster_main", "share")]


def test_hardware_loop_passes_its_body_every_turn_and_its_end_once() -> None:
    """Control comes to the instruction behind the body after each turn, but executes it after the last one only."""
    words = [xpulp_setup(0, 10, 8), addi(11, 1), addi(13, 1), addi(12, 1)]
    with Simulator("rv32") as simulator:
        simulator.load(elf_of(struct.pack("<4I", *words) + assemble(LEAVE)))
        simulator.set_register(0, "a0", 5)
        simulator.probe([BASE + 8, BASE + 12])
        simulator.run(1000)
        assert [e.address - BASE for e in simulator.probes()] == [8] * 5 + [12]


def test_snapshots_rewind_events() -> None:
    with loaded() as simulator:
        simulator.probe(["share"], cores=range(8))
        simulator.run_until("share", core=3)
        saved = simulator.snapshot()
        before = len(simulator.probes())
        simulator.run()
        events = simulator.probes()
        simulator.restore(saved)
        assert len(simulator.probes()) == before < len(events)
        simulator.run()
        assert simulator.probes() == events


def test_what_cannot_be_probed() -> None:
    with loaded() as simulator:
        with pytest.raises(CompileError, match="is not a symbol of the program"):
            simulator.probe(["nowhere"])
        with pytest.raises(CompileError, match="core 10"):
            simulator.probe(["share"], cores=(10,))
