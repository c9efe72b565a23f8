"""Faults in programs are found on every kind of machine: loop bounds, indices, tags, barriers, who moves data."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tests.planner.arena.test_threads import mixed
from tests.planner.arena.test_threads import scheduled as on_threads
from tests.planner.check.corrupting_tiles import Places, corrupted
from tests.planner.check.test_arena import MADE
from tests.planner.check.test_arena import scheduled as in_arena
from tests.planner.check.test_in_order import scheduled as for_ita
from tests.planner.check.test_schedule import generated, is_harmless
from tests.planner.networks import NETWORKS
from tilewright import pipeline
from tilewright.errors import InternalError
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.program import program
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.settings import Settings

KINDS = {"ports": ("siracusa", 20_000), "requests": ("snitch", 24_000), "all cores": ("minpool", 16_000)}
"""Who starts transfers -> a target, and bytes of L1 in which layers have several tiles."""
ALONE = ("one core", "threads", "jobs")
"""Machines on which nothing is moved: one core calls kernels, threads have parts of layers, or units have jobs."""
FIELDS = tuple(f"{name}." for name in vars(program) if name[0].isupper() and name[1:2].islower())
ROUNDS, FAULTS = 20, 25
"""500 for each kind."""
MODELS = ("residual", "gates", "windows", "broadcasts")


@cache
def schedule_of(target: str, name: str, l1: int) -> Schedule:
    settings = Settings(l1=l1, time_limit=1.0, engines=("cluster",) if target == "snitch" else ())
    *_, schedule, _ = pipeline.stages(pipeline.import_model(NETWORKS[name]()), target, "", settings)
    assert isinstance(schedule, Schedule)
    return schedule


def chosen(kind: str, round_: int) -> Schedule:
    """Every fourth of those for Snitch is ITA's, with jobs in order and operands that have one buffer."""
    if kind == "one core":
        return in_arena(sorted(MADE)[round_ % len(MADE)])
    if kind == "threads":
        return on_threads(mixed(), 2 + round_ % 3)
    if kind == "jobs":
        return in_arena(("two units", "one after the other")[round_ % 2])
    if kind == "requests" and round_ % 4 == 3:
        return for_ita(("rows_held", "in_flight", "weights_held")[round_ // 4 % 3])
    target, l1 = KINDS[kind]
    return schedule_of(target, MODELS[round_ % len(MODELS)], l1)


def is_found(schedule: Schedule, broken: Schedule, what: str) -> bool:
    """Or changes nothing."""
    try:
        check_schedule(broken)
        return generated(broken) == generated(schedule) or is_harmless(schedule, broken, what.split(":")[0])
    except InternalError:
        return True


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("kind", [*KINDS, *ALONE])
def test_faults_in_programs_are_found(kind: str, round_: int) -> None:
    schedule, rng = chosen(kind, round_), random.Random(f"{kind} {round_}")
    places, tried = Places.of(schedule), 0
    while tried < FAULTS:
        found = corrupted(places, rng, FIELDS)
        if found is None:
            continue
        tried += 1
        assert is_found(schedule, found[0], found[1]), f"not found: {found[1]}"


@pytest.mark.in_turns(6)
@pytest.mark.one_in(4)
@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("kind", ALONE)
def test_faults_in_data_are_found(kind: str, round_: int) -> None:
    schedule, rng = chosen(kind, round_), random.Random(f"data {kind} {round_}")
    places, tried = Places.of(schedule), 0
    while tried < FAULTS:
        found = corrupted(places, rng)
        if found is None:
            continue
        tried += 1
        assert is_found(schedule, found[0], found[1]), f"not found: {found[1]}"


@pytest.mark.thorough
def test_every_kind_of_event_is_corrupted() -> None:
    tiles = [chosen(kind, round_) for kind in (*KINDS, *ALONE) for round_ in range(8)]
    names = set().union(*(Places.of(one).names for one in tiles))
    wanted = {
        "Body.events", "Group.tag", "Group.by", "Moved.tile", "Moved.turn", "Wait.tag", "For.stop",
        "For.first", "For.step", "Call.tile", "Barrier.group", "Submit.tile", "Submit.meanwhile", "WaitJob.tile",
        "Prefetch.layers", "Each.events", "WaitLayer.layer", "Load.constant", "Load.bytes",
    }  # fmt: skip
    assert wanted <= names
