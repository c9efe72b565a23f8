"""Decisions by chance that are written down, so that they can be made again, also simpler ones in their place.

Each decision is a number from 0 up; 0 is the simplest. Whoever draws lists what is simple first. What numpy's
generators are asked for is here too, so that the random cases of the tests can be drawn as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.ir.types import Array

TRIES = 50
SEEDS = 2**31 - 1


class Dull(Exception):
    """Nothing of use comes of these choices."""


class Choices:
    def __init__(self, seed: int = 0, given: Sequence[int] | None = None) -> None:
        """By chance; or those that are given, and the simplest ones behind them."""
        self._random, self._given, self.made = np.random.default_rng(seed), given, list[int]()

    # ---- single numbers ---------------------------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        """From low to high, both included."""
        place = len(self.made)
        if self._given is None:
            chosen = int(self._random.integers(high - low + 1))
        else:
            chosen = min(self._given[place], high - low) if place < len(self._given) else 0
        self.made.append(chosen)
        return low + chosen

    def chance(self, probability: float) -> bool:
        return self.number(0, 999) >= 1000 - round(1000 * probability)

    def pick_one(self, items: Sequence[Any]) -> Any:
        return items[self.number(0, len(items) - 1)]

    def weighted(self, items: dict[Any, int]) -> Any:
        """One of these, as often as their numbers say."""
        point = self.number(0, sum(items.values()) - 1)
        for item, weight in items.items():
            point -= weight
            if point < 0:
                return item
        raise ValueError("no items")

    def shuffled(self, count: int) -> list[int]:
        found = list(range(count))
        for place in range(count - 1):
            other = self.number(place, count - 1)
            found[place], found[other] = found[other], found[place]
        return found

    def some(self, count: int, least: int = 1) -> list[int]:
        """Some of the first numbers, in any order."""
        return self.shuffled(count)[: self.number(least, count)]

    # ---- what numpy's generators have -------------------------------------------------------------------------------

    def numpy(self) -> np.random.Generator:
        """For arrays: one choice decides on all their elements."""
        return np.random.default_rng(self.number(0, SEEDS))

    def integers(self, low: int, high: int | None = None, size: Any = None) -> Any:
        first, stop = (0, low) if high is None else (low, high)
        return self.number(int(first), int(stop) - 1) if size is None else self.numpy().integers(first, stop, size)

    def random(self, size: Any = None) -> Any:
        """Large numbers are simple ones: what has a probability is left out."""
        return 1 - (self.number(0, 999) + 1) / 1000 if size is None else self.numpy().random(size)

    def choice(self, items: Any) -> Any:
        return self.pick_one(list(items))

    def permutation(self, count: int) -> Array:
        return np.array(self.shuffled(count))

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        return self.numpy().normal(loc, scale, size)

    def standard_normal(self, size: Any = None) -> Any:
        return self.numpy().standard_normal(size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        if size is None:
            return low + (high - low) * self.number(0, 1000) / 1000
        return self.numpy().uniform(low, high, size)

    # ---- sizes ------------------------------------------------------------------------------------------------------

    def size(self) -> int:
        kind = self.weighted({"one": 18, "few": 75, "many": 5, "none": 2})
        return {"one": 1, "few": 0, "many": 0, "none": 0}[kind] or self._size(kind)

    def _size(self, kind: str) -> int:
        return 0 if kind == "none" else self.number(2, 9) if kind == "few" else self.number(10, 40)

    def shape(self, low: int, high: int, room: int = 3000) -> tuple[int, ...]:
        rank = self.number(low, high)
        for _ in range(TRIES):
            shape = tuple(self.size() if rank < 5 else min(self.size(), 4) for _ in range(rank))
            if prod(shape) <= room:
                return shape
        raise Dull("shapes are too large")
