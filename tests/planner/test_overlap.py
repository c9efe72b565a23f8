"""When layers end that an accelerator computes while cores do something else."""

from __future__ import annotations

import pytest

from tests.models import model, node
from tilewright.pipeline import import_model
from tilewright.planner.options import Way
from tilewright.planner.overlap import hidden_cycles, spent
from tilewright.target.costs import Costs
from tilewright.target.mapping import map_nodes
from tilewright.targets import find
from tilewright.tiling.tiles import Grid

pytestmark = pytest.mark.fast
COSTS = Costs(tile=10.0, fetch=30.0)
"""A layer that is handed over takes 20 more than what the accelerator does not hide."""


def way(cycles: float, engine: float = 0.0, fills_queue: bool = False) -> Way:
    """A layer of one tile; only its times count."""
    graph = import_model(model([node("Relu", "x", "y")], {"x": (4,)}, ["y"]))
    (relu,) = graph.nodes
    kernel, grid = map_nodes(graph, find("generic")).choice(relu).kernel, Grid(relu.op, graph.all_types(relu), ("Y",))
    mode = "offload" if engine else "together"
    return Way(
        relu, kernel, "some", grid, mode, double=False, operands=(), owners={}, near=frozenset(), deep=frozenset(),
        scratch=0, params=0, kernel_cycles=engine, cycles=cycles, engine_cycles=engine, fills_queue=fills_queue,
    )  # fmt: skip


def times(ways: list[Way], lasts: list[int]) -> list[int]:
    return spent(ways, [one.cycles for one in ways], lasts, COSTS)


def test_without_layers_that_last_each_takes_its_own_time() -> None:
    assert times([way(100), way(300, 200), way(50)], [0, 0, 0]) == [100, 300, 50]


def test_what_is_handed_over_is_waited_for_where_it_is_needed() -> None:
    # The core is free after 90 and fetches until 120; the next layer takes 60; the one behind it begins at 290.
    assert times([way(300, 200), way(60), way(50)], [1, 0, 0]) == [120, 60, 160]


def test_time_that_cores_fill_is_hidden() -> None:
    assert times([way(300, 200), way(500), way(50)], [1, 0, 0]) == [120, 500, 50]
    assert hidden_cycles([way(300, 200), way(500)], 0, 1, COSTS) == 180


def test_an_accelerator_does_one_layer_after_the_other() -> None:
    # The second is handed over after 220, and has to wait for the first until 290.
    assert times([way(300, 200), way(300, 200)], [1, 0]) == [120, 370]


def test_a_core_waits_for_room_in_the_queue() -> None:
    assert times([way(300, 200), way(300, 200, True), way(50)], [2, 1, 0]) == [120, 200, 50]


def test_short_jobs_do_not_hide_what_is_fetched() -> None:
    assert times([way(130, 5), way(60)], [1, 0]) == [120, 60]
