"""Transfers of other bytes than a tile's window are found, and so are commands that are not those of their shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.planner.check.corrupting_tiles import Places, corrupted
from tests.planner.check.test_schedule import generated, generated_whole, whole
from tests.support.caches import remembering
from tilewright import pipeline
from tilewright.errors import InternalError
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.check.windows import _joined
from tilewright.planner.schedule.layer_schedule import LayerSchedule, Move
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.settings import Settings
from tilewright.tiling.dma_shapes import DmaShape

SHAPES = ("DmaShape.", "Level.", "AxisWindow.", "Move.command", "Move.shape", "Argument.window", "Prefetch.copies")
"""What says which bytes are moved, and how."""
NETWORKS = ("windows", "broadcasts", "cached", "gates", "joined_in_little_room")
FAULTS, ROUNDS = 20, 10


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("round_", range(ROUNDS))
def test_faults_in_shapes_are_found(round_: int) -> None:
    """Every one that generated C would show."""
    rng = random.Random(round_)
    name, number = NETWORKS[round_ % len(NETWORKS)], 1 + round_ // len(NETWORKS)
    schedule = whole(name, number)
    places, tried = Places.of(schedule), 0
    while tried < FAULTS:
        found = corrupted(places, rng, SHAPES)
        if found is None:
            continue
        tried += 1
        broken = found[0]
        try:
            check_schedule(broken)
        except InternalError:
            continue
        assert generated(broken) == generated_whole(name, number), f"not found: {found[1]}"


def test_faults_in_limits_are_found() -> None:
    """What is said of how much of a cache is there when it is read."""
    rng = random.Random(5)
    *_, schedule, _ = pipeline.stages(remembering(), "siracusa", "", Settings(time_limit=1.0))
    assert isinstance(schedule, Schedule)
    places = Places.of(schedule)
    assert "Limit.more" in places.names
    for _ in range(60):
        found = corrupted(places, rng, ("Level.limit", "Limit."))
        if found is None:
            continue
        with pytest.raises(InternalError):
            check_schedule(found[0])


def refused(schedule: Schedule, layer: LayerSchedule, message: str) -> None:
    layers = tuple(layer if one.number == layer.number else one for one in schedule.layers)
    with pytest.raises(InternalError, match=message):
        check_schedule(replace(schedule, layers=layers))


def farther(shape: DmaShape) -> DmaShape:
    first, *others = shape.levels
    return replace(shape, levels=(replace(first, stride=2 * first.stride), *others))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda move: replace(move, shape=replace(move.shape, start=move.shape.start + 4)), "in tile .*, not"),
        (lambda move: replace(move, shape=farther(move.shape)), "in tile .*, not"),
        (lambda move: replace(move, shape=replace(move.shape, levels=())), "has no bytes"),
        (lambda move: replace(move, command="dma_out"), "with dma_out, not dma_in_rows"),
    ],
    ids=["start", "stride", "nothing", "direction"],
)
def test_other_transfers_are_found(change: Callable[[Move], Move], message: str) -> None:
    schedule = whole("windows", 1)
    layer, at = next(
        (one, at)
        for one in schedule.layers
        for at, move in enumerate(one.loads)
        if move.shape.strided and one.tiles > 1
    )
    loads = (*layer.loads[:at], change(layer.loads[at]), *layer.loads[at + 1 :])
    refused(schedule, replace(layer, loads=loads), message)


def test_a_copy_in_the_other_direction_is_found() -> None:
    schedule = whole("cached", 1)
    layer = next(one for one in schedule.layers if one.prefetch and one.prefetch.copies.startswith("dma_out"))
    assert layer.prefetch is not None
    other = layer.prefetch.copies.replace("out", "in")
    refused(schedule, replace(layer, prefetch=replace(layer.prefetch, copies=other)), f"with {other}")


def test_runs_that_follow_each_other_are_one() -> None:
    assert _joined([(3, 40), (5, 8), (8, 1)]) == ((120, 1),)
    assert _joined([(3, 64), (5, 8), (8, 1)]) == ((3, 64), (40, 1))
    assert _joined([(1, 64), (5, 16), (8, 1)]) == ((5, 16), (8, 1))
    assert _joined([(3, 64), (0, 8), (8, 1)]) == ()
