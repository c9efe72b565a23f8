"""Jobs of two accelerators have no order between them: a schedule that relies on one is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.accelerator.folders import REQUANT
from tests.accelerator.test_networks import branches
from tests.planner.check.corrupting import Epochs, copied, places
from tests.planner.check.test_in_order import with_home
from tilewright import pipeline
from tilewright.errors import InternalError
from tilewright.ir.arrays import random_inputs
from tilewright.planner.check.events import check_events
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.keys import SCRATCH
from tilewright.planner.program.program import DMA
from tilewright.planner.schedule.events import AwaitJob, Region, TileCall
from tilewright.planner.schedule.interpret import Machine, interpret
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.target.settings import Settings


@cache
def scheduled() -> Schedule:
    """Two convolutions in flight, on a unit each."""
    slow = f"{REQUANT}:cycles_per_mac=1"
    *_, schedule, _ = pipeline.stages(branches(), "quad", "net", Settings(accelerators=(slow, slow)))
    assert isinstance(schedule, Schedule)
    return schedule


def events(tiles: Schedule) -> Epochs:
    return copied(unroll(tiles))


def check(tiles: Schedule, epochs: Epochs) -> None:
    check_events(tuple(map(tuple, epochs)), tiles)


def submitted(epochs: Epochs) -> tuple[TileCall, TileCall]:
    """The first two jobs, which are of two accelerators."""
    calls = [epochs[i][j] for i, j in places(epochs, TileCall)]
    first, second, *_ = [call for call in calls if isinstance(call, TileCall) and call.kind == "submit"]
    engines = {scheduled().layers[call.layer].option.engine for call in (first, second)}
    assert len(engines) == 2
    return first, second


def test_two_are_in_flight_at_once() -> None:
    epochs = events(scheduled())
    check(scheduled(), epochs)
    first, second = submitted(epochs)
    flat = [event for epoch in epochs for event in epoch]
    assert flat.index(second) < flat.index(AwaitJob(DMA, first.job))


@pytest.mark.parametrize("waited", [0, 1])
def test_a_wait_for_one_is_none_for_the_other(waited: int) -> None:
    """Both waits are for the same accelerator: what the other one makes may not be there."""
    epochs = events(scheduled())
    jobs = [call.job for call in submitted(epochs)]
    for i, j in places(epochs, AwaitJob):
        if epochs[i][j] == AwaitJob(DMA, jobs[1 - waited]):
            epochs[i][j] = AwaitJob(DMA, jobs[waited])
    with pytest.raises(InternalError, match=r"elements of .* are in|does not hold"):
        check(scheduled(), epochs)
    feeds = random_inputs({name: scheduled().graph.types[name] for name in scheduled().graph.inputs}, 0, {})
    machine = Machine(scheduled(), feeds)
    for epoch in epochs:
        machine.run(epoch)
    (name,) = scheduled().graph.outputs
    assert not np.array_equal(machine.tensor(name), interpret(scheduled(), feeds)[name])


def test_two_do_not_write_the_same_bytes() -> None:
    """One result in the place of the other, as one accelerator could leave them one after the other."""
    tiles = scheduled()
    first, second = (owner_of(call.writes) for call in submitted(events(tiles)))
    broken = with_home(tiles, second, tiles.homes[first].offset)
    with pytest.raises(InternalError, match=r"writes .* while layer .* writes it"):
        check(broken, events(broken))


def owner_of(regions: Sequence[Region]) -> str:
    return next(region.owner for region in regions if region.owner)


def test_one_does_not_write_what_the_other_reads() -> None:
    tiles = scheduled()
    epochs = events(tiles)
    first, second = submitted(epochs)
    params = next(region for region in first.reads if region.role)
    for i, j in places(epochs, TileCall):
        if epochs[i][j] == second:
            epochs[i][j] = replace(second, writes=(*second.writes, replace(params, role=SCRATCH)))
    with pytest.raises(InternalError, match=r"writes .* while layer .* reads it"):
        check(tiles, epochs)


def with_option(number: int, **changed: object) -> Schedule:
    """The schedule with something else in a layer's option."""
    tiles = scheduled()
    layers = list(tiles.layers)
    layers[number] = replace(layers[number], option=replace(layers[number].option, **changed))
    return replace(tiles, layers=tuple(layers))


def test_a_kernel_is_its_engines() -> None:
    """Jobs of one accelerator are in order, those of two are not: whose they are is no detail."""
    with pytest.raises(InternalError, match="cluster has no kernel"):
        check_schedule(with_option(0, engine="cluster"))


def test_tiles_are_those_of_the_node() -> None:
    other = scheduled().layers[2].option.grid
    with pytest.raises(InternalError, match="is cut as QLinearAdd"):
        check_schedule(with_option(0, grid=other))
