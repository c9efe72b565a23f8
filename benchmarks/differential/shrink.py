"""The smallest case that is still wrong: its choices are left out or made simpler, one part after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.differential import families
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices, Dull

SECONDS = 120.0
FEW = 64
"""Choices of which every run of neighbours is left out in turn."""


@dataclass(frozen=True)
class Small:
    case: Case
    choices: tuple[int, ...]


def smallest(
    family: str, room: int, first: Small, is_wrong: Callable[[Case], bool], seconds: float = SECONDS
) -> Small:  # fmt: skip
    """What is left after so many seconds, or where nothing simpler is wrong."""
    best, until = first, time.monotonic() + seconds
    tried: set[tuple[int, ...]] = set()
    improved = True
    while improved:
        improved = False
        for choices in simpler(best.choices):
            if time.monotonic() > until:
                return best
            if choices not in tried:
                tried.add(choices)
                found = _drawn(family, room, choices)
                if found is not None and _order(found) < _order(best) and is_wrong(found.case):
                    best, improved = found, True
                    break
    return best


def _order(small: Small) -> tuple[int, int, tuple[int, ...]]:
    return len(small.case.model), len(small.choices), small.choices


def _drawn(family: str, room: int, given: Sequence[int]) -> Small | None:
    choices = Choices(given=given)
    try:
        return Small(families.find(family)(choices, room), tuple(choices.made))
    except Dull:
        return None


def simpler(choices: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Large parts first: left out, made zero; then single numbers. The first number often says how many parts there
    are: it is made one less with a part that is left out, or else a part of zeros would come behind the others."""
    count, length = len(choices), len(choices)
    while length:
        for start in range(0, count, length):
            if start and choices[0]:
                yield (choices[0] - 1, *choices[1:start], *choices[start + length :])
            yield (*choices[:start], *choices[start + length :])
            if any(choices[start : start + length]):
                yield (*choices[:start], *([0] * len(choices[start : start + length])), *choices[start + length :])
        length //= 2
    if count <= FEW:
        yield from ((*choices[:a], *choices[b:]) for a in range(count) for b in range(a + 1, count))
    for place, chosen in enumerate(choices):
        for lower in sorted({chosen // 2, chosen - 1} - {chosen, -1, 0}):
            yield (*choices[:place], lower, *choices[place + 1 :])
