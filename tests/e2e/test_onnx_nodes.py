"""None of onnx's node tests is wrong: each passes or is refused with a reason. Making them takes seconds, so that all
that is tried with them stands here; the first part has some of every operator."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.e2e.onnx_nodes import parts, run_all
from tests.export.onnx_nodes import check_all

AT_LEAST = 0.65
"""Of all of them."""
COUNT = 8


@pytest.mark.one_in(COUNT)
@pytest.mark.parametrize("part", range(COUNT))
def test_node_tests_of_onnx(part: int) -> None:
    outcomes = list(run_all(os.cpu_count() or 1, parts(COUNT)[part]))
    wrong = [f"{outcome.name}: {outcome.detail}" for outcome in outcomes if outcome.status == "wrong"]
    assert not wrong, "\n".join(wrong)
    assert Counter(outcome.status for outcome in outcomes)["passed"] >= AT_LEAST * len(outcomes)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("part", range(COUNT))
def test_node_tests_of_onnx_survive_the_way_out_and_back(part: int) -> None:
    check_all(parts(COUNT)[part])
