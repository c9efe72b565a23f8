"""How many random examples a property is tested with: as many as a test says, a tenth of them in the fast subset,
eight times as many in the thorough one and three times as many where it is their turn. They are the same on every
machine, however slow it is: what fails here fails there. `benchmarks` has fuzzers for others."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import Any

from hypothesis import HealthCheck, control, core, settings
from hypothesis.internal.conjecture import providers
from hypothesis.strategies._internal import core as strategies

# Hypothesis reads the source of a property for the seed of each set of parameters, which takes longer than its tries.
if hasattr(core, "function_digest"):
    core.function_digest = cache(core.function_digest)

# It also reads the numbers in the text of every module that is loaded, and tries some of them: which modules these are
# depends on what else is tested.
if hasattr(providers, "_get_local_constants") and hasattr(providers, "_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

# Around every example it puts away the state of Python's and numpy's own generators, and around every draw it looks
# whether that has changed: an eighth of the time of small properties. No test draws from these generators.
if hasattr(core, "deterministic_PRNG"):
    core.deterministic_PRNG = nullcontext
for module in (control, strategies):
    if hasattr(module, "deprecate_random_in_strategy"):
        module.deprecate_random_in_strategy = lambda *_: nullcontext()

settings.register_profile(
    "all", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
PERCENT = {"fast": 10, "thorough": 800}
for subset, percent in PERCENT.items():
    settings.register_profile(
        subset, settings.get_profile("all"), max_examples=settings().max_examples * percent // 100
    )


IN_TURN_PERCENT = 300


def try_more(test: Any) -> None:
    """Gives a property the examples of its turn."""
    given = test._hypothesis_internal_use_settings or settings()
    test._hypothesis_internal_use_settings = settings(given, max_examples=given.max_examples * IN_TURN_PERCENT // 100)


def profile(subset: str) -> None:
    settings.load_profile(subset if subset in PERCENT else "all")


def examples(count: int) -> settings:
    """Settings for that many examples, of which a profile may want only a part: its own number is the percentage."""
    return settings(max_examples=max(1, count * settings().max_examples // 100))
