"""Cores that are stopped and started again."""

from __future__ import annotations

import pytest

from tests.sim.assembling import built
from tilewright.sim.simulator import Simulator


@pytest.mark.parametrize("itself", [0, 1])
def test_a_core_that_was_stopped_forgets_what_it_waited_for(itself: int) -> None:
    with Simulator("siracusa") as simulator:
        simulator.load(built("restart.c", f"-DITSELF={itself}"))
        report = simulator.run(100_000)
        assert [simulator.read_word(name) for name in ("starts", "passed", "value")] == [2, 1, 77]
    for core in report.cores:
        assert core.instructions + sum(core.stalls.values()) == core.cycles, core
    by_name = {core.name: core for core in report.cores}
    assert by_name["cluster 1"].cycles < by_name["cluster 2"].cycles, "the time in between does not count"
    assert by_name["cluster 8"].instructions == 1
