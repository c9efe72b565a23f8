"""Cases by their family and seed."""

from __future__ import annotations

from benchmarks.differential import families
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices, Dull

TRIES = 20


def draw(family: str, seed: int, room: int) -> tuple[Case, list[int]]:
    """The case, and the choices that it came from; those that nothing comes of are followed by others."""
    for attempt in range(TRIES):
        choices = Choices(seed + (attempt << 32))
        try:
            return families.find(family)(choices, room), choices.made
        except Dull:
            continue
    raise Dull(f"{family}, seed {seed}: nothing in {TRIES} tries")
