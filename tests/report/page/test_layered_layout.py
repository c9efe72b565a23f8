"""Every node below those that it reads, none over another, and lines with a place in every row that they pass."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tilewright.report.page.layered_layout import PASSING, layered

pytestmark = pytest.mark.fast


def graphs() -> st.SearchStrategy[dict[str, list[str]]]:
    """Nodes read any of those before them."""
    reads = st.lists(st.sets(st.integers(0, 11), max_size=3), min_size=1, max_size=12)
    return reads.map(lambda all: {f"n{at}": [f"n{i}" for i in sorted(read) if i < at] for at, read in enumerate(all)})


@examples(100)
@given(graphs())
def test_of_any_graph(inputs: dict[str, list[str]]) -> None:
    layout = layered(inputs)
    for node, read in inputs.items():
        for other in read:
            assert layout.rows[other] < layout.rows[node]
            for row in range(layout.rows[other], layout.rows[node]):
                assert (other, row) in layout.places
    for row in set(layout.rows.values()):
        own = sorted((place, layout.rows[name] == row) for (name, at), place in layout.places.items() if at == row)
        for (left, left_is_node), (right, right_is_node) in pairwise(own):
            room = sum(0.5 if is_node else PASSING / 2 for is_node in (left_is_node, right_is_node))
            assert right - left >= room - 1e-6


def test_a_chain_is_straight() -> None:
    layout = layered({"a": [], "b": ["a"], "c": ["b"]})
    assert layout.rows == {"a": 0, "b": 1, "c": 2}
    assert len({round(place, 6) for place in layout.places.values()}) == 1


def test_a_shortcut_goes_around() -> None:
    layout = layered({"a": [], "b": ["a"], "sum": ["b", "a"]})
    assert abs(layout.places["a", 1] - layout.places["b", 1]) >= 0.5


def test_what_reads_nothing_stands_above_its_reader() -> None:
    layout = layered({"x": [], "a": ["x"], "b": ["a"], "late": [], "sum": ["b", "late"]})
    assert layout.rows["late"] == layout.rows["sum"] - 1
