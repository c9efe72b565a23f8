"""None of onnx's node tests is wrong: each passes or is refused with a reason. Making them takes seconds, so that all
that is tried with them stands here."""

from __future__ import annotations

import os
from collections import Counter

from tests.e2e.onnx_nodes import run_all
from tests.export.onnx_nodes import check_all

AT_LEAST = 0.65
"""Of all of them."""


def test_node_tests_of_onnx() -> None:
    outcomes = list(run_all(os.cpu_count() or 1))
    wrong = [f"{outcome.name}: {outcome.detail}" for outcome in outcomes if outcome.status == "wrong"]
    assert not wrong, "\n".join(wrong)
    assert Counter(outcome.status for outcome in outcomes)["passed"] >= AT_LEAST * len(outcomes)


def test_node_tests_of_onnx_survive_the_way_out_and_back() -> None:
    check_all()
