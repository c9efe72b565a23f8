"""A short run of the fuzzer; `python -m benchmarks.fuzz` is the long one."""

from __future__ import annotations

from benchmarks.fuzz import fuzz


def test_damaged_models_compile_or_are_refused() -> None:
    outcomes = fuzz(cases=200, seed=0, jobs=2, small=True)
    assert sum(outcomes.values()) == 200
    assert [outcome for outcome in outcomes if outcome.startswith("BUG")] == []
