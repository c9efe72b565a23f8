"""Short runs of the fuzzers; `python -m benchmarks.fuzz` and `benchmarks.fuzz_tflite` are the long ones."""

from __future__ import annotations

from benchmarks import fuzz_tflite
from benchmarks.fuzz import fuzz


def test_damaged_models_compile_or_are_refused() -> None:
    outcomes = fuzz(cases=200, seed=0, jobs=2, small=True)
    assert sum(outcomes.values()) == 200
    assert [outcome for outcome in outcomes if outcome.startswith("BUG")] == []


def test_damaged_tflite_files_compile_or_are_refused() -> None:
    outcomes = fuzz_tflite.fuzz(cases=200, seed=0, jobs=2, small=True)
    assert sum(outcomes.values()) == 200
    assert [outcome for outcome in outcomes if outcome.startswith("BUG")] == []
