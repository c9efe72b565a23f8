"""How many random examples a property is tested with: as many as a test says, a tenth of them in the fast subset. They
are the same on every machine, however slow it is: what fails here fails there. `benchmarks` has fuzzers for others. Of
long lists of cases, the fast subset takes some."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TypeVar

from hypothesis import HealthCheck, core, settings

# Hypothesis reads the source of a property for the seed of each set of parameters, which takes longer than its tries.
if hasattr(core, "function_digest"):
    core.function_digest = cache(core.function_digest)

Case = TypeVar("Case")

SHARE = 5
"""The fast subset takes one of so many cases."""

settings.register_profile(
    "all", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fast", settings.get_profile("all"), max_examples=settings.default.max_examples // 10)


def examples(count: int) -> settings:
    """Settings for that many examples, of which a profile may want only a part: its own number is the percentage."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100))


def some(cases: Iterable[Case]) -> list[Case]:
    """The cases of a test that has very many: all, or in the fast subset every fifth."""
    is_fast = settings.default.max_examples < settings.get_profile("all").max_examples
    return list(cases)[:: SHARE if is_fast else 1]
