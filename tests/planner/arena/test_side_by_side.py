"""Layers on cores and on an engine with a memory of its own: who computes what."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.gpu_mapping import gap, problem

from tilewright.planner.arena.side_by_side import CORES, ENGINE, Layer, Problem, in_order, predicted, solve


def chain(*times: tuple[float | None, float | None], copy: float = 10.0) -> Problem:
    layers = tuple(Layer((number,), (number + 1,), one) for number, one in enumerate(times))
    return Problem(layers, dict.fromkeys(range(len(times) + 1), copy), frozenset({len(times)}))


@pytest.mark.fast
def test_copies_count() -> None:
    """A layer that is quicker on the engine stays on the cores unless it is quicker by more than two copies."""
    assert solve(chain((29, 10))) == frozenset()
    assert solve(chain((31, 10))) == {0}
    assert solve(chain((20, 10), (5, 10), (20, 10))) == frozenset()
    assert solve(chain((25, 5), (5, 10), (25, 5))) == {0, 1, 2}
    assert predicted(chain((25, 5), (5, 10), (25, 5)), frozenset({0, 1, 2})) == 10 + 5 + 10 + 5 + 10


@pytest.mark.fast
def test_both_work_at_once() -> None:
    """Two branches from one input: each takes as long on either, together half of that and the copies."""
    branches = (Layer((0,), (1,), (100, 100)), Layer((0,), (2,), (100, 100)), Layer((1, 2), (3,), (5, None)))
    both = Problem(branches, dict.fromkeys(range(4), 10.0), frozenset({3}))
    found = solve(both)
    assert len(found) == 1
    assert predicted(both, found) == 10 + 100 + 10 + 5
    places = both.assignment(frozenset({1}))
    assert in_order(branches, places) == [1, 0, 2]
    assert places == [CORES, ENGINE, CORES]


@pytest.mark.fast
def test_states_stay_where_all_their_layers_are() -> None:
    """A state that cores touch too is copied to the engine and back."""
    layers = (Layer((0, 1), (2,), (50, 5)), Layer((2,), (3,), (50, 5)))
    kept = Problem(layers, dict.fromkeys(range(4), 10.0), frozenset({3}), ((1, 2),))
    assert predicted(kept, frozenset({0, 1})) == 10 + 5 + 5 + 10
    assert predicted(kept, frozenset({0})) == 10 + 10 + 5 + 10 + 50


@pytest.mark.fast
def test_views_are_where_their_layers_are() -> None:
    layers = (Layer((0,), (1,), (50, 5)), Layer((1,), (2,), (0, 0), True), Layer((2,), (3,), (50, 5)))
    found = Problem(layers, dict.fromkeys(range(4), 10.0), frozenset({3}))
    assert predicted(found, frozenset({0, 2})) == 10 + 5 + 5 + 10


@pytest.mark.one_in(3)
def test_close_to_the_best_of_all_placements() -> None:
    random = np.random.default_rng(11)
    drawn = [one for one in (problem(random) for _ in range(40)) if len(one.movable) <= 8]
    assert max(gap(one)[0] for one in drawn) <= 0.05
