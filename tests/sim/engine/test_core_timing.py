"""Timing as data: what cores take for instructions, and memories with wait states for lines, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, elf_of
from tilewright.sim.core_timing import CoreTiming, Predictor
from tilewright.sim.platform import Group, Memory, Platform, ReadPort
from tilewright.sim.platforms.cv32e40p import CV32E40P
from tilewright.sim.simulator import Simulator

PLAIN = ".option norvc\n"
LOOP = PLAIN + "li a0, 10\n1: addi a0, a0, -1\n bnez a0, 1b\n"
"""Ten turns: nine taken branches, one that is not."""
LOADED = PLAIN + "lw a1, 0(a2)\n addi a3, a1, 1\n sw a3, 0(a2)\n"


def cycles(text: str, timing: CoreTiming) -> int:
    (group,) = CV32E40P.groups
    code = assemble(text)
    with Simulator(replace(CV32E40P, groups=(replace(group, timing=timing),))) as simulator:
        simulator.load(elf_of(code + FOREVER))
        simulator.set_register(0, "a2", BASE + 0x8000)
        assert simulator.run_until(BASE + len(code))
        return simulator.cycle


@pytest.mark.parametrize(
    ("text", "timing", "expected"),
    [
        (LOADED, CoreTiming(), 3),
        (LOADED, CoreTiming(load_use=1), 4),
        (LOADED, CoreTiming(load=1, store=2), 6),
        (PLAIN + "mul a0, a1, a2\n mulh a0, a1, a2\n div a0, a1, a2\n", CoreTiming(mul=1, mulh=4, divide=17), 25),
        (LOOP, CoreTiming(taken_branch=2), 21 + 9 * 2),
        (LOOP, CoreTiming(taken_branch=2, predictor=Predictor.BACKWARD), 21 + 2),
        (LOOP, CoreTiming(taken_branch=2, predictor=Predictor.LAST_BACKWARD), 21 + 2 * 2),
        (PLAIN + "beqz zero, 1f\n nop\n1: nop\n", CoreTiming(taken_branch=3, predictor=Predictor.BACKWARD), 5),
    ],
)
def test_instructions_take_what_the_data_says(text: str, timing: CoreTiming, expected: int) -> None:
    assert cycles(text, timing) == expected


RAM, FLASH = 0x2000_0000, 0x1000_0000


def stalls(text: str, port: ReadPort) -> tuple[int, int]:
    """Cycles that a program in a flash behind the port waited for code, and for data."""
    group = Group("core", 1, boots=True, local_memory="ram", flavour=CV32E40P.groups[0].flavour, has_float=False)
    memories = Memory("ram", RAM, 0x1000), Memory("flash", FLASH, 0x4000, is_flash=True, port=port)
    code = assemble(text)
    with Simulator(Platform("board", "", (group,), memories)) as simulator:
        simulator.load(elf_of(code + FOREVER, base=FLASH))
        simulator.set_register(0, "a2", FLASH + 0x2000)
        assert simulator.run_until(FLASH + len(code))
        (core,) = simulator.report().cores
        return core.stalls["fetch"], core.stalls["memory"]


PORT = ReadPort(line_bytes=32, data_cache_bytes=64, instruction_cache_bytes=64, cache_ways=2, wait=10)
READ = "lw a0, {}(a2)\n"


@pytest.mark.parametrize(
    ("port", "reads", "lines"),
    [
        (PORT, (0, 4, 28), 1),
        (PORT, (0, 32, 0, 32), 2),
        (PORT, (0, 32, 64, 32, 0), 4),  # the line that was not used for longest goes
        (replace(PORT, data_cache_bytes=0), (0, 32, 0), 3),
        (replace(PORT, prefetch=True), (0, 32, 64, 0), 2),
    ],
)
def test_loads_wait_for_lines_that_no_cache_has(port: ReadPort, reads: tuple[int, ...], lines: int) -> None:
    _, waited = stalls(PLAIN + "".join(READ.format(at) for at in reads), port)
    assert waited == lines * 10


def test_code_waits_for_lines_and_shares_a_cache_that_is_one() -> None:
    turns = PLAIN + ".balign 32\nli a0, 3\n1: lw a1, 0(a2)\n lw a1, 1024(a2)\n addi a0, a0, -1\n bnez a0, 1b\n"
    apart = stalls(turns, replace(PORT, instruction_cache_bytes=64))
    assert apart == (10, 20)
    together = stalls(turns, replace(PORT, one_cache=True))
    assert sum(together) > sum(apart)


def test_a_line_that_was_written_is_written_back() -> None:
    group = Group("core", 1, boots=True, flavour=CV32E40P.groups[0].flavour, has_float=False)
    memories = Memory("rom", BASE, 0x1000), Memory("psram", RAM, 0x1000, port=replace(PORT, data_cache_bytes=32))
    code = assemble(PLAIN + "sw a0, 0(a2)\n lw a0, 64(a2)\n lw a0, 0(a2)\n")
    with Simulator(Platform("board", "", (group,), memories)) as simulator:
        simulator.load(elf_of(code + FOREVER))
        simulator.set_register(0, "a2", RAM)
        assert simulator.run_until(BASE + len(code))
        assert simulator.report().cores[0].stalls["memory"] == 4 * 10
