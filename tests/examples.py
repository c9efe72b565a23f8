"""How many random examples a property is tested with: as many as a test says, a tenth of them in the fast subset."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("fast", max_examples=settings.default.max_examples // 10)


def examples(count: int) -> settings:
    """Settings for that many examples, of which a profile may want only a part: its own number is the percentage."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100), deadline=None)
