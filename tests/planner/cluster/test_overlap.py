"""When layers end that an accelerator computes while cores do something else."""

from __future__ import annotations

import pytest

from tests.support.models import model, node
from tilewright.pipeline import import_model
from tilewright.planner.cluster.overlap import hidden_cycles, timeline
from tilewright.planner.cluster.tiling_option import TilingOption
from tilewright.target.costs import Costs
from tilewright.target.mapping import map_nodes
from tilewright.targets import find
from tilewright.tiling.tiles import TileGrid

pytestmark = pytest.mark.fast
COSTS = Costs(tile=10.0, fetch=30.0)
"""A layer that is submitted takes 20 more than what the accelerator does not hide."""


def option(cycles: float, engine: float = 0.0, fills_queue: bool = False) -> TilingOption:
    """A layer of one tile; only its times count."""
    graph = import_model(model([node("Relu", "x", "y")], {"x": (4,)}, ["y"]))
    (relu,) = graph.nodes
    kernel, grid = (
        map_nodes(graph, find("generic")).choice(relu).kernel,
        TileGrid.of(relu.op, graph.all_types(relu), ("Y",)),
    )
    mode = "offload" if engine else "cooperative"
    return TilingOption(
        relu, kernel, "some", grid, mode, double=False, operands=(), owners={}, inside=frozenset(), spilled=frozenset(),
        scratch=0, params=0, kernel_cycles=engine, cycles=cycles, memories=find("quad").paths,
        engine_cycles=engine, fills_queue=fills_queue,
    )  # fmt: skip


def times(options: list[TilingOption], in_flight: list[int]) -> list[int]:
    return timeline(options, [one.cycles for one in options], in_flight, COSTS)


def test_without_layers_that_last_each_takes_its_own_time() -> None:
    assert times([option(100), option(300, 200), option(50)], [0, 0, 0]) == [100, 300, 50]


def test_what_is_submitted_is_waited_for_where_it_is_needed() -> None:
    # The core is free after 90 and fetches until 120; the next layer takes 60; the one behind it begins at 290.
    assert times([option(300, 200), option(60), option(50)], [1, 0, 0]) == [120, 60, 160]


def test_time_that_cores_fill_is_hidden() -> None:
    assert times([option(300, 200), option(500), option(50)], [1, 0, 0]) == [120, 500, 50]
    assert hidden_cycles([option(300, 200), option(500)], 0, 1, COSTS) == 180


def test_an_accelerator_does_one_layer_after_the_other() -> None:
    # The second is submitted after 220, and has to wait for the first until 290.
    assert times([option(300, 200), option(300, 200)], [1, 0]) == [120, 370]


def test_a_core_waits_for_a_slot_in_the_queue() -> None:
    assert times([option(300, 200), option(300, 200, True), option(50)], [2, 1, 0]) == [120, 200, 50]


def test_short_jobs_do_not_hide_what_is_fetched() -> None:
    assert times([option(130, 5), option(60)], [1, 0]) == [120, 60]
