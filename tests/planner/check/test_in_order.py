"""Faults are found in schedules of layers that are left to an accelerator's order, and of operands with one buffer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from tests.planner.check.corrupting import Epochs, Place, copied, places
from tests.planner.check.corrupting_tiles import Places, corrupted
from tests.planner.check.test_schedule import is_harmless
from tests.targets.ita.transformers import Net, encoder_model
from tilewright import pipeline
from tilewright.codegen import folder
from tilewright.errors import InternalError
from tilewright.ir.arrays import random_inputs
from tilewright.planner.check.events import check_events
from tilewright.planner.check.order import Done
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.home import ARENA, Home
from tilewright.planner.schedule.events import AwaitGroup, AwaitJob, TileCall, TileEvent, Transfer
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.target.settings import Settings

FAULTS = 60
"""Put into the data of each schedule."""


def product(rows: int, inner: int, columns: int) -> object:
    net = Net((1, rows, inner))
    return net.model(net.linear(net.x, "y", inner, columns))


NETWORKS: dict[str, tuple[Callable[[], object], int]] = {
    "rows_held": (lambda: product(128, 256, 192), 70_000),
    "weights_held": (lambda: product(192, 256, 256), 90_000),
    "in_flight": (lambda: encoder_model(64, 128, 2, 64, 192), 131_072),
    "in_little_room": (lambda: encoder_model(64, 128, 2, 64, 192), 50_000),
}
"""Models for ITA, and bytes of TCDM."""


@cache
def scheduled(name: str) -> Schedule:
    model, tcdm = NETWORKS[name]
    settings = Settings(engines=("all",), numerics="hardware", memories=(("tcdm", tcdm),), time_limit=1.0)
    *_, schedule, _ = pipeline.stages(pipeline.import_model(model()), "snitch", "", settings)
    assert isinstance(schedule, Schedule)
    return schedule


def events(name: str) -> Epochs:
    schedule = scheduled(name)
    return copied(unroll(schedule))


def check(name: str, epochs: Epochs) -> None:
    schedule = scheduled(name)
    check_events(tuple(map(tuple, epochs)), schedule)


def refused(name: str, epochs: Epochs, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        check(name, epochs)


@pytest.mark.in_turns(3)
def test_the_schedules_have_what_is_corrupted() -> None:
    for name, held in (("rows_held", "X"), ("weights_held", "W")):
        (layer,) = scheduled(name).layers
        assert (layer.is_queued, [operand.name for operand in layer.option.single_buffered]) == (True, [held])
        assert layer.renewals
        assert 1 < layer.held_tiles < layer.tiles
    done = Done.of(scheduled("in_flight"))
    assert done.submitted - {number for _, number in done.waited}


# ---- events ---------------------------------------------------------------------------------------------------------


def renewals(name: str, epochs: Epochs) -> Iterator[tuple[Place, Place]]:
    """Where the held operand comes again, and the wait for the last job that reads it before."""
    (held,) = scheduled(name).layers[0].option.single_buffered
    for i, j in places(epochs, Transfer):
        event = epochs[i][j]
        if isinstance(event, Transfer) and event.source.tensor == held.tensor and event.kind == "load" and event.tile:
            yield (i, j), max(place for place in places(epochs, AwaitJob) if place < (i, j))


@pytest.mark.parametrize("name", ["rows_held", "weights_held"])
def test_a_held_part_is_not_renewed_while_a_job_reads_it(name: str) -> None:
    epochs = events(name)
    check(name, epochs)
    found = list(renewals(name, epochs))
    assert found
    for _, (i, j) in found:
        broken = copied(tuple(map(tuple, epochs)))
        broken[i].pop(j)
        refused(name, broken, "writes .* while .* reads it")


@pytest.mark.parametrize("name", ["rows_held", "weights_held"])
def test_a_held_part_is_there_before_jobs_read_it(name: str) -> None:
    epochs = events(name)
    for (i, j), _ in list(renewals(name, epochs)):
        transfer = epochs[i][j]
        assert isinstance(transfer, Transfer)
        broken = copied(tuple(map(tuple, epochs)))
        wait = next(p for p in range(j, len(broken[i])) if _waits_for(broken[i][p], transfer.group))
        submit = next(p for p in range(wait, len(broken[i])) if isinstance(broken[i][p], TileCall))
        broken[i].insert(wait, broken[i].pop(submit))
        refused(name, broken, "does not hold|while")


def _waits_for(event: TileEvent, group: int) -> bool:
    return isinstance(event, AwaitGroup) and event.group == group


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_jobs_in_another_order_are_found(name: str) -> None:
    epochs = events(name)
    submits = [(i, j) for i, j in places(epochs, TileCall) if epochs[i][j].kind == "submit"]  # type: ignore[union-attr]
    for (i, j), (k, m) in pairwise(submits):
        broken = copied(tuple(map(tuple, epochs)))
        first, second = broken[i][j], broken[k][m]
        assert isinstance(first, TileCall)
        assert isinstance(second, TileCall)
        broken[i][j], broken[k][m] = replace(second, job=first.job), replace(first, job=second.job)
        with pytest.raises(InternalError):
            check(name, broken)


@pytest.mark.parametrize("name", ["in_flight", "in_little_room"])
def test_parameters_of_another_layer_are_found(name: str) -> None:
    """Though they lie where those of a layer before were, of the same size."""
    epochs = events(name)
    for i, j in places(epochs, Transfer):
        event = epochs[i][j]
        if isinstance(event, Transfer) and event.source.role:
            broken = copied(tuple(map(tuple, epochs)))
            broken[i].pop(j)
            refused(name, broken, "does not hold")


# ---- homes and data -------------------------------------------------------------------------------------------------


def with_home(tiles: Schedule, owner: str, offset: int) -> Schedule:
    def moved(home: Home) -> Home:
        return replace(home, offset=offset) if home.owner == owner else home

    layers = [
        replace(layer, arguments=tuple(replace(one, home=moved(one.home)) for one in layer.arguments))
        for layer in tiles.layers
    ]
    return replace(tiles, layers=tuple(layers), homes={name: moved(home) for name, home in tiles.homes.items()})


@pytest.mark.in_turns(5)
def test_what_a_job_reads_is_not_written_over_by_one_before() -> None:
    """Every result of a job in the place of every other tensor: where that is not found, nobody needs the bytes."""
    schedule = scheduled("in_flight")
    tiles = schedule
    l1 = schedule.target.paths.tiles.name
    arena = {home.owner: home.offset for home in tiles.homes.values() if home.kind == ARENA and home.memory == l1}
    feeds = random_inputs({name: schedule.graph.types[name] for name in schedule.graph.inputs}, 0, {})
    wanted = interpret(schedule, feeds)
    found = 0
    jobs = [tiles.layers[number] for number in Done.of(tiles).submitted]
    for owner in {tiles.homes[layer.option.node.key].owner for layer in jobs}:
        for offset in sorted(set(arena.values()) - {arena[owner]}):
            broken = with_home(schedule, owner, offset)
            try:
                check_schedule(broken)
            except InternalError:
                found += 1
                continue
            results = interpret(broken, feeds)
            assert all(np.array_equal(results[name], wanted[name]) for name in wanted), f"{owner} at {offset}"
    assert found


def generated(schedule: Schedule) -> dict[str, str]:
    texts = folder.files(schedule, "network")
    return {file: text for file, text in texts.items() if not file.startswith(("kernels/", "runtime/"))}


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_faults_in_the_data_of_schedules_are_found(name: str) -> None:
    """Every one that generated C would show; parameters and working memory may lie elsewhere."""
    schedule, rng = scheduled(name), random.Random(name)
    known, found = Places.of(schedule), 0
    for _ in range(FAULTS):
        fault = corrupted(known, rng)
        if fault is None or fault[1].split(":")[0].endswith(
            (".params.offset", ".scratch.offset", ".params", ".scratch")
        ):
            continue
        broken = fault[0]
        try:
            check_schedule(broken)
        except InternalError:
            found += 1
            continue
        harmless = generated(broken) == generated(schedule) or is_harmless(schedule, broken, fault[1].split(":")[0])
        assert harmless, f"not found: {fault[1]}"
    assert found


def test_buffers_begin_where_the_accelerator_reads() -> None:
    """Everything, whoever has it: one that lies between lets those behind it begin elsewhere."""
    schedule = scheduled("in_little_room")
    tiles, l1 = schedule, schedule.target.paths.tiles
    assert l1.placement > l1.alignment
    for layer in tiles.layers:
        assert layer.params is None or layer.params.offset % l1.placement == 0
    number = next(layer.number for layer in tiles.layers if layer.params is not None)
    layers = list(tiles.layers)
    params = layers[number].params
    assert params is not None
    layers[number] = replace(layers[number], params=replace(params, offset=params.offset + l1.alignment))
    with pytest.raises(InternalError, match="is not aligned"):
        check_schedule(replace(tiles, layers=tuple(layers)))
