"""Valid schedules pass the validator; every fault that is put into one, or into its plan, is found."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tests.planner.corrupting import PLAN_FAULTS, SCHEDULE_FAULTS, copied
from tests.planner.networks import NETWORKS
from tests.planner.planning import prepared
from tilewright.errors import CompileError, InternalError
from tilewright.planner.check_schedule import check_events
from tilewright.planner.events import Epoch
from tilewright.planner.lower import lower
from tilewright.planner.plan import Plan
from tilewright.planner.tile_schedule import ClusterSchedule
from tilewright.planner.unroll import unroll
from tilewright.planner.validate import check_plan
from tilewright.target.settings import Settings

SETTINGS = (
    Settings(8, time_limit=1.0),
    Settings(3, 8_000, time_limit=1.0),
    Settings(8, 20_000, buffering="double", engines=("cluster",), time_limit=1.0),
    Settings(8, 12_000, home="L3", time_limit=1.0),
)
CORRUPTED = ("residual", "gates", "windows", "broadcasts", "joined_in_little_room")
SCHEDULES, PLANS = 260, 60
"""Faults that are put into schedules and into plans."""


@cache
def planned(name: str, number: int) -> Plan:
    return prepared(NETWORKS[name]()).plan(SETTINGS[number])


@cache
def scheduled(name: str, number: int) -> tuple[ClusterSchedule, tuple[Epoch, ...]]:
    plan = planned(name, number)
    tiles = lower(plan)
    return tiles, unroll(tiles, plan.mapped.graph, plan.memories)


def check(plan: Plan, tiles: ClusterSchedule, epochs: tuple[Epoch, ...]) -> None:
    check_events(epochs, tiles, plan.mapped.graph, plan.mapped.target)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_valid_schedules_pass(name: str, number: int) -> None:
    check(planned(name, number), *scheduled(name, number))


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
        check(planned(name, number), tiles, tuple(map(tuple, broken)))
    except InternalError:
        return
    pytest.fail(f"{name} {SETTINGS[number]}: {fault.__name__} is not found: {what}")


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
        tiles = lower(broken)
        check(broken, tiles, unroll(tiles, broken.mapped.graph, broken.memories))
    except (InternalError, CompileError):
        return
    pytest.fail(f"{name} {SETTINGS[number]}: {fault.__name__} is not found: {what}")
