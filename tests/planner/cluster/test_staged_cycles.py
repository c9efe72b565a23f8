"""Layers wait for constants that come from L3, and plans know how long."""

from __future__ import annotations

from dataclasses import replace

from tests.planner.networks import broadcasts
from tests.planner.planning import prepared
from tilewright.planner.cluster.staged_cycles import Staging, staging_of, with_staging
from tilewright.target.memory import Link
from tilewright.target.settings import Settings

UDMA = Link("udma", "L3", "L2", longest=1000, read=1.0, write=2.0, latency=40, command=200)


def test_long_constants_take_several_transfers() -> None:
    sizes = {"a": 2500, "b": 40}
    assert staging_of(sizes, {name: [UDMA] for name in sizes}) == Staging(4 * 200, 4 * 40 + 2540)
    assert staging_of({}, {}) == Staging()


def test_what_passes_another_memory_is_waited_for_on_the_way() -> None:
    farther = replace(UDMA, name="far", outer="L4", inner="L3", read=3.0)
    assert staging_of({"a": 500}, {"a": [farther, UDMA]}) == Staging(200 + 40 + 1500 + 200, 40 + 500)


def test_what_comes_in_time_costs_its_commands_only() -> None:
    # The second layer's constants are asked for at 0 and there at 510; the first layer ends at 1010.
    assert with_staging([1000, 100], [Staging(), Staging(10, 500)], ahead=1) == [1010, 100]


def test_a_layer_waits_for_what_comes_late() -> None:
    # The first is there at 510 and ends at 620; what is asked for at 520 is there at 1520.
    assert with_staging([100, 100], [Staging(10, 500), Staging(10, 1000)], ahead=1) == [620, 1000]


def test_without_room_in_l2_each_waits_for_its_own() -> None:
    assert with_staging([100, 100], [Staging(10, 500), Staging(10, 1000)], ahead=0) == [610, 1110]


def test_plans_count_the_bytes_that_come_from_l3() -> None:
    network = prepared(broadcasts())
    l2, l3 = (network.plan(Settings(2, 16_000, home=home, engines=("cluster",))) for home in ("L2", "L3"))
    types = l3.mapped.graph.types
    moved = sum(types[name].bytes for step in l3.steps for name in step.staged)
    assert moved > 0
    assert l3.predicted > l2.predicted
    assert l3.predicted >= l3.bound >= moved
