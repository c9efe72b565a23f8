"""What instruction fetch costs."""

from __future__ import annotations

import pytest

from tests.sim.assembling import assemble, elf_of
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
