"""Timers: when they ring."""

from __future__ import annotations

from tests.sim.assembling import built
from tilewright.sim.simulator import Simulator

SOON = 150
"""Cycles from the event to the instruction after the sleep."""


def test_a_timer_that_is_set_to_ring_later() -> None:
    """What it was to do first is forgotten, and nothing else."""
    with Simulator("siracusa") as simulator:
        simulator.load(built("timers.c"))
        simulator.run(100_000)
        slept = simulator.read_word("woke") - simulator.read_word("began")
    assert 9000 <= slept < 9000 + SOON
