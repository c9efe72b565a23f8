"""Short runs of the fuzzers; `python -m benchmarks.fuzz`, `benchmarks.fuzz_tflite` and `benchmarks.fuzz_gguf` are the
long ones. Each change tries others."""

from __future__ import annotations

import pytest
from benchmarks import fuzz_gguf, fuzz_tflite
from benchmarks.fuzz import fuzz

from tests.turn import TURN


def test_damaged_models_compile_or_are_refused() -> None:
    outcomes = fuzz(cases=100, seed=TURN, jobs=2, small=True)
    assert sum(outcomes.values()) == 100
    assert [outcome for outcome in outcomes if outcome.startswith("BUG")] == []


def test_damaged_tflite_files_compile_or_are_refused() -> None:
    outcomes = fuzz_tflite.fuzz(cases=100, seed=TURN, jobs=2, small=True)
    assert sum(outcomes.values()) == 100
    assert [outcome for outcome in outcomes if outcome.startswith("BUG")] == []


@pytest.mark.in_turns(8)
def test_damaged_gguf_files_become_c_or_are_refused() -> None:
    outcomes = fuzz_gguf.fuzz(cases=25, seed=TURN, jobs=2)
    assert sum(outcomes.values()) == 25
    assert [outcome for outcome in outcomes if outcome.startswith("BUG")] == []
