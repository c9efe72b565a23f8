"""The front of sums against all sums there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tilewright.quantiser.width_search.knapsack import MOST, Choice, front


def random_items(seed: int, items: int, choices: int) -> list[list[Choice]]:
    random = np.random.default_rng(seed)
    return [
        [Choice(float(random.integers(0, 50)), float(random.random())) for _ in range(choices)] for _ in range(items)
    ]


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(5))
def test_is_all_that_is_worth_having(seed: int) -> None:
    items = random_items(seed, 5, 4)
    sums = [(sum(c.cost for c in picks), sum(c.loss for c in picks)) for picks in product(*items)]
    wanted = sorted(
        (cost, loss)
        for cost, loss in sums
        if not any(o <= cost and p <= loss and (o, p) != (cost, loss) for o, p in sums)
    )
    found = [(point.cost, point.loss) for point in front(items)]
    assert np.allclose(found, wanted)


@pytest.mark.fast
def test_picks_are_what_was_summed() -> None:
    items = random_items(7, 6, 3)
    for point in front(items):
        chosen = [choices[pick] for choices, pick in zip(items, point.picks, strict=True)]
        assert point.cost == sum(choice.cost for choice in chosen)
        assert point.loss == pytest.approx(sum(choice.loss for choice in chosen))


@pytest.mark.fast
def test_many_items_keep_both_ends() -> None:
    random = np.random.default_rng(0)
    items = [[Choice(float(random.random()), float(random.random())) for _ in range(4)] for _ in range(40)]
    points = front(items)
    assert len(points) <= 4 * MOST
    assert points[0].cost == pytest.approx(sum(min(c.cost for c in choices) for choices in items))
    assert points[-1].loss == pytest.approx(sum(min(c.loss for c in choices) for choices in items))
