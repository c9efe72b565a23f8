"""Valid schedules pass the validator; every fault that is put into one, into its tiles or into its plan, is found."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache

import numpy as np
import pytest

from tests.planner import planning
from tests.planner.check.corrupting import PLAN_FAULTS, SCHEDULE_FAULTS, copied
from tests.planner.check.corrupting_tiles import Places, corrupted
from tests.planner.networks import NETWORKS
from tilewright.codegen import folder
from tilewright.errors import CompileError, InternalError
from tilewright.ir.arrays import random_inputs
from tilewright.ir.types import Array
from tilewright.planner.check.events import check_events
from tilewright.planner.check.plan import check_plan
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.schedule import layer_schedule
from tilewright.planner.schedule.events import Epoch
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.layer_schedule import LayerSchedule, Slots
from tilewright.planner.schedule.lower_tiles import lower_tiles
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.target.settings import Settings

SETTINGS = (
    Settings(8, time_limit=1.0),
    Settings(3, 8_000, time_limit=1.0),
    Settings(8, 20_000, buffering="double", engines=("cluster",), time_limit=1.0),
    Settings(8, 12_000, home="L3", time_limit=1.0),
)
CORRUPTED = ("residual", "gates", "windows", "broadcasts", "joined_in_little_room")
SCHEDULES, PLANS = 10 * len(SCHEDULE_FAULTS), 60
"""Faults that are put into what schedules mean tile by tile, and into plans."""
TILES, ROUNDS = 10, 20
"""Faults that are put into each of so many schedules."""


def planned(name: str, number: int) -> Plan:
    return planning.planned(name, SETTINGS[number])


@cache
def scheduled(name: str, number: int) -> tuple[Schedule, tuple[Epoch, ...]]:
    schedule = lower_tiles(planned(name, number))
    return schedule, unroll(schedule)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("name", "number"),
    [(name, at) for n, name in enumerate(sorted(NETWORKS)) for at in range(n % 2, len(SETTINGS), 2)],
)
def test_valid_schedules_pass(name: str, number: int) -> None:
    check_schedule(scheduled(name, number)[0])


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_faults_in_schedules_are_found(seed: int) -> None:
    rng = random.Random(seed)
    fault = SCHEDULE_FAULTS[seed % len(SCHEDULE_FAULTS)]
    while True:
        name, number = rng.choice(CORRUPTED), rng.randrange(len(SETTINGS))
        tiles, epochs = scheduled(name, number)
        broken = copied(epochs)
        what = fault(broken, rng)
        if what is not None:
            break
    try:
        check_events(tuple(map(tuple, broken)), tiles)
    except InternalError:
        return
    pytest.fail(f"{name} {SETTINGS[number]}: {fault.__name__} is not found: {what}")


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("seed", range(PLANS))
def test_faults_in_plans_are_found(seed: int) -> None:
    rng = random.Random(seed)
    fault = PLAN_FAULTS[seed % len(PLAN_FAULTS)]
    while True:
        name, number = rng.choice(CORRUPTED), rng.randrange(len(SETTINGS))
        found = fault(planned(name, number), rng)
        if found is not None:
            break
    broken, what = found
    try:
        check_plan(broken)
        check_schedule(lower_tiles(broken))
    except (InternalError, CompileError):
        return
    pytest.fail(f"{name} {SETTINGS[number]}: {fault.__name__} is not found: {what}")


# ---- faults in the data of schedules --------------------------------------------------------------------------------


@cache
def whole(name: str, number: int) -> Schedule:
    return lower_tiles(planned(name, number))


def generated(schedule: Schedule) -> dict[str, str]:
    """The C of a schedule, without what is the same for all."""
    texts = folder.files(schedule, "network")
    return {file: text for file, text in texts.items() if not file.startswith(("kernels/", "runtime/libc/"))}


@cache
def generated_whole(name: str, number: int) -> dict[str, str]:
    return generated(whole(name, number))


def is_harmless(schedule: Schedule, broken: Schedule, path: str) -> bool:
    """Parameters or working memory elsewhere, where nothing else is at that time; or events in another order that does
    as well: numpy still computes the same, whichever agent is first between barriers."""
    own = (".params.offset", ".scratch.offset", ".params", ".scratch")
    if not path.endswith(own) and not path.startswith("program"):
        return False
    inputs = random_inputs({name: schedule.graph.types[name] for name in schedule.graph.inputs}, 0, {})
    wanted = interpret(schedule, inputs)
    return all(is_same(interpreted(broken, inputs, first), wanted) for first in (False, True))


def interpreted(schedule: Schedule, inputs: Mapping[str, Array], cores_first: bool) -> dict[str, Array]:
    return interpret(schedule, inputs, cores_first=cores_first)


def is_same(found: Mapping[str, Array], wanted: Mapping[str, Array]) -> bool:
    return all(np.array_equal(found[name], wanted[name], equal_nan=True) for name in wanted)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("round_", range(ROUNDS))
def test_faults_in_the_data_of_schedules_are_found(round_: int) -> None:
    """Every one that generated C would show."""
    rng = random.Random(round_)
    name, number = CORRUPTED[round_ % len(CORRUPTED)], round_ // len(CORRUPTED) % len(SETTINGS)
    schedule = whole(name, number)
    places, tried = Places.of(schedule), 0
    while tried < TILES:
        found = corrupted(places, rng)
        if found is None:
            continue
        tried += 1
        broken, what = found[0], found[1]
        try:
            check_schedule(broken)
        except InternalError:
            continue
        unchanged = generated(broken) == generated_whole(name, number)
        assert unchanged or is_harmless(schedule, broken, what.split(":")[0]), f"not found: {what}"


def test_every_field_of_a_schedule_is_corrupted() -> None:
    found = set().union(*(Places.of(whole("residual", n)).names for n in range(len(SETTINGS))))
    made = [one for one in vars(layer_schedule).values() if isinstance(one, type) and is_dataclass(one)]
    known = {f"{one.__name__}.{field.name}" for one in made for field in fields(one)}
    own = [one for one in made if one.__module__ == layer_schedule.__name__]
    assert {f"{one.__name__}.{field.name}" for one in own for field in fields(one)} <= found & known


def refused(number: int, change: LayerSchedule, message: str) -> None:
    """A schedule of a residual network whose activations are in L3, with another layer of that number."""
    schedule = whole("residual", 3)
    layers = list(schedule.layers)
    layers[number] = change
    with pytest.raises(InternalError, match=message):
        check_schedule(replace(schedule, layers=tuple(layers)))


def layers_with(name: str) -> list[LayerSchedule]:
    return [layer for layer in whole("residual", 3).layers if getattr(layer, name)]


def test_half_a_staged_constant_is_found() -> None:
    layer = layers_with("staged")[0]
    halves = tuple(replace(one, bytes=one.bytes // 2) for one in layer.staged)
    refused(layer.number, replace(layer, staged=halves), r"stages .* of .* bytes")


def test_working_memory_that_is_missing_small_or_askew_is_found() -> None:
    layer = layers_with("scratch")[0]
    scratch = layer.scratch
    assert scratch is not None
    refused(layer.number, replace(layer, scratch=None), "working memory and has none")
    refused(layer.number, replace(layer, scratch=replace(scratch, bytes=scratch.bytes // 2)), "bytes of working memory")
    refused(layer.number, replace(layer, scratch=replace(scratch, offset=scratch.offset + 1)), "is not aligned")


def test_parameters_that_are_askew_are_found() -> None:
    layer = layers_with("params")[0]
    assert layer.params is not None
    refused(layer.number, replace(layer, params=replace(layer.params, offset=layer.params.offset + 1)), "not aligned")


def test_buffers_of_single_cores_where_all_work_together_are_found() -> None:
    def own(slots: Slots | None) -> Slots | None:
        return None if slots is None else replace(slots, cores=8)

    layer = next(one for one in layers_with("arguments") if one.option.mode == "cooperative" and one.stores)
    arguments = tuple(replace(one, buffer=own(one.buffer)) for one in layer.arguments)
    loads = tuple(replace(one, buffer=replace(one.buffer, cores=8)) for one in layer.loads)
    stores = tuple(replace(one, buffer=replace(one.buffer, cores=8)) for one in layer.stores)
    fetched = layer.prefetch and replace(
        layer.prefetch, moves=tuple(replace(one, buffer=replace(one.buffer, cores=8)) for one in layer.prefetch.moves)
    )
    broken = replace(layer, arguments=arguments, loads=loads, stores=stores, prefetch=fetched)
    refused(layer.number, broken, "cores' own")


@pytest.mark.parametrize("added", [64, 1 << 30])
def test_arenas_that_are_too_large_are_found(added: int) -> None:
    schedule = whole("residual", 3)
    arenas = {name: size + added for name, size in schedule.arenas.items()}
    with pytest.raises(InternalError, match=r"arena|bytes of"):
        check_schedule(replace(schedule, arenas=arenas))


@pytest.mark.parametrize("cores", [0, 7, 9, 1 << 30])
def test_other_cores_are_found(cores: int) -> None:
    schedule = whole("residual", 3)
    with pytest.raises(InternalError, match="cores"):
        check_schedule(replace(schedule, cores=cores))
