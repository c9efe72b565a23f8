"""What instruction fetch costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sim.assembling import FOREVER, assemble, elf_of
from tilewright.sim.platform import Group, InstructionCache, Memory, Platform
from tilewright.sim.simulator import Simulator

L2 = 0x1C01_0000
LINES = 16
CACHE_OFF = ".option norvc\n li a1, 0\n .balign 16\n"
CACHE_ON = ".option norvc\n li a0, 0x1a108800\n li a1, -1\n sw a1, 0(a0)\n.balign 16\n"


@pytest.mark.parametrize(
    ("before", "line"),
    [(CACHE_OFF, 5), (CACHE_ON, 8)],  # a path of 5; with the cache 1 for the line and 2 for the refill
    ids=["uncached", "cold cache"],
)
def test_a_line_of_the_fabric_controller(before: str, line: int) -> None:
    start = L2 + len(assemble(before))
    waited = []
    with Simulator("siracusa") as simulator:
        simulator.load(elf_of(assemble(before + "addi a2, a2, 1\n" * 4 * LINES + "1: j 1b"), base=L2))
        for address in (start, start + 16 * LINES):
            simulator.run_until(address)
            (core,) = simulator.report().cores
            waited.append(core.stalls["fetch"])
    assert waited[1] - waited[0] == line * LINES


ROM, RAM = 0x8000_0000, 0x1000_0000
CACHE = InstructionCache(8, 4, shared_banks=2, shared_sets=32, shared_ways=4, on_at_reset=True)
PORTED = Memory("ram", RAM, 0x1000, banks=16, refill_port_bytes=4)
DISTANCES = {"one line": 0, "two banks": 16, "one bank": 32}
"""Bytes between the lines that cores go to."""
GO = ".option norvc\n csrr a0, mhartid\n li a1, {distance}\n mul a0, a0, a1\n lui a1, {ram:#x}\n add a1, a1, a0\n"


def fetch_stalls(cores: int, distance: int, end: str, ram: Memory) -> list[int]:
    """Of every core, all of which come to the end in the same cycle."""
    group = Group("core", cores, boots=True, cache=CACHE)
    with Simulator(Platform("cores", "", (group,), (Memory("rom", ROM, 0x1000), ram))) as simulator:
        simulator.load(elf_of(assemble(GO.format(distance=distance, ram=RAM >> 12) + end), base=ROM))
        for core in range(cores):
            simulator.write(RAM + core * distance, FOREVER)
        simulator.run_until(cycle=1000)
        return [core.stalls["fetch"] for core in simulator.report().cores]


def waits(cores: int, distance: int, ram: Memory = PORTED) -> list[int]:
    """For a line of the memory, that cores ask for in the same cycle."""
    there, here = (fetch_stalls(cores, distance, end, ram) for end in ("jr a1", "1: j 1b"))
    return [one - other for one, other in zip(there, here, strict=True)]


@pytest.mark.parametrize(
    ("cores", "lines", "expected"),
    [
        (1, "one line", [5]),  # four accesses and 2 [c32]
        (8, "one line", [5, 6, 7, 8, 9, 10, 11, 12]),  # the bank answers one each cycle
        (2, "two banks", [5, 9]),  # the port is free after four accesses
        (4, "two banks", [5, 9, 13, 17]),
        (2, "one bank", [5, 10]),  # which also takes a cycle to come back to what it put off
        (3, "one bank", [5, 10, 15]),
    ],
)
def test_lines_that_come_through_one_port(cores: int, lines: str, expected: list[int]) -> None:
    assert waits(cores, DISTANCES[lines]) == expected


@pytest.mark.parametrize("lines", ["one line", "two banks"])
def test_without_a_port_they_do_not_wait_for_each_other(lines: str) -> None:
    assert waits(2, DISTANCES[lines], replace(PORTED, refill_port_bytes=0)) == [5, 5]


@pytest.mark.parametrize(("width", "expected"), [(16, [2, 3]), (8, [3, 5]), (4, [5, 9])])
def test_a_wider_port_is_faster(width: int, expected: list[int]) -> None:
    assert waits(2, DISTANCES["two banks"], replace(PORTED, refill_port_bytes=width)) == expected
