"""Accesses and buffers that are found by where they lie are those that a look at all of them finds."""

from __future__ import annotations

import random

import pytest

from tilewright.planner.check.event_regions import overlap
from tilewright.planner.check.held_buffers import HeldBuffers
from tilewright.planner.check.live_accesses import Access, LiveAccesses
from tilewright.planner.schedule.events import Region, Spans

pytestmark = pytest.mark.fast

ROWS, COLUMNS, BASE = 40, 96, 3000


def buffer(rng: random.Random) -> Region:
    start = rng.randrange(8000)
    size = rng.choice((0, 16, 500, 5000))
    return Region("L1", start, start + size, "x", ((0, size),))


def window(rng: random.Random) -> Region:
    """Of a matrix in a home at BASE, which may be seen as one row."""
    if rng.random() < 0.2:
        first = rng.randrange(ROWS * COLUMNS)
        return home_region((ROWS * COLUMNS,), ((first, rng.randint(first, ROWS * COLUMNS)),))
    height, width = rng.choice(((1, 8), (5, 5), (ROWS, 3), (ROWS, COLUMNS)))
    row, column = rng.randint(0, ROWS - height), rng.randint(0, COLUMNS - width)
    return home_region((ROWS, COLUMNS), ((row, row + height), (column, column + width)))


def home_region(frame: tuple[int, ...], box: Spans) -> Region:
    flat = [first for first, _ in box], [last - 1 for _, last in box]
    low, high = (position[0] if len(frame) == 1 else position[0] * COLUMNS + position[1] for position in flat)
    return Region("L1", BASE + low, BASE + high + 1, "y", box, "y", frame, box)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("seed", range(20))
def test_near_ones_are_all_that_touch(seed: int) -> None:
    rng = random.Random(seed)
    live, everything = LiveAccesses(), []
    for number in range(300):
        region, writes = (buffer if rng.random() < 0.5 else window)(rng), rng.random() < 0.3
        wanted = {o.what for o in everything if (writes or o.writes) and overlap(o.region, region)}
        found = {o.what for o in live.near(region, writes) if overlap(o.region, region)}
        assert {one for one in wanted if not is_empty(everything[int(one)].region)} <= found | empty(region, wanted)
        assert found <= wanted
        made = Access(region, writes, "core 0", (0, number), None if rng.random() < 0.1 else (0, number), str(number))
        live.add(made)
        everything.append(made)
    kept = {access.what for boxes in live.still_open().homes.values() for access in boxes.accesses}
    assert kept == {access.what for access in everything if access.end is None}


def is_empty(region: Region) -> bool:
    return region.start >= region.stop


def empty(region: Region, wanted: set[str]) -> set[str]:
    """What need not be found of a region without bytes."""
    return wanted if is_empty(region) else set()


def test_few_of_many_are_near() -> None:
    live = LiveAccesses()
    for row in range(0, ROWS, 2):
        for column in range(0, COLUMNS, 4):
            region = home_region((ROWS, COLUMNS), ((row, row + 2), (column, column + 4)))
            assert len(list(live.near(region, True))) == 0
            live.add(Access(region, True, "core 0", (0, 0), (0, 0), ""))


@pytest.mark.parametrize("seed", range(10))
def test_buffers_hold_what_was_put_there_last(seed: int) -> None:
    rng = random.Random(seed)
    held, kept = HeldBuffers(), []
    for _ in range(300):
        region = buffer(rng)
        kept = [one for one in kept if one.stop <= region.start or one.start >= region.stop]
        if rng.random() < 0.3:
            held.forget(region.start, region.stop)
        else:
            held.hold(region)
            kept += [] if is_empty(region) else [region]
        assert sorted(one.start for one in held) == [one.start for one in sorted(kept, key=lambda one: one.start)]
        assert all(one in held for one in kept)
        assert Region("L1", region.start, region.stop + 1, "other", ()) not in held
