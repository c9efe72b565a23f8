"""Event unit: who is woken by what."""

from __future__ import annotations

import pytest

from tests.sim.assembling import built
from tilewright.sim.simulator import Simulator

BARRIER, MUTEX, DISPATCH = 16, 17, 18
SOON = 150
"""Cycles for the way through sleep, to the instruction cache and to the variables."""
VALUES = {BARRIER: 0, MUTEX: 77, DISPATCH: 77}


def woken(line: int, hears: bool) -> dict[str, int]:
    with Simulator("siracusa") as simulator:
        simulator.load(built("events.c", f"-DLINE={line}", f"-DHEARS={hears:d}"))
        simulator.run(100_000)
        return {name: simulator.read_word(name) for name in ("triggered", "allowed", "woke", "value", "left")}


@pytest.mark.parametrize("line", VALUES)
def test_a_core_that_hears_the_line_is_woken_at_once(line: int) -> None:
    seen = woken(line, hears=True)
    assert seen["triggered"] < seen["woke"] < seen["triggered"] + SOON
    assert (seen["value"], seen["left"]) == (VALUES[line], 0)


@pytest.mark.parametrize("line", VALUES)
def test_a_core_that_does_not_hear_the_line_sleeps_until_it_does(line: int) -> None:
    """The event stays pending, and nothing of it is lost."""
    seen = woken(line, hears=False)
    assert seen["triggered"] + 1000 < seen["allowed"] < seen["woke"] < seen["allowed"] + SOON
    assert (seen["value"], seen["left"]) == (VALUES[line], 0)
