"""Packings with lower and lower peaks: attempts of a search under ceilings between what is proven and what is found.

How long an attempt takes depends on the order of boxes as on dice, so that many short attempts with different orders
find more than a long one. Of three orders one has first what covers the columns in which most attempts have failed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from tilewright.memory.packing import RULES, Box, Outcome, Packing, Search, live_heights, packing

PATIENCE = 2_000_000
"""Work of an attempt in the first round, and at most a hundredth of all."""
KINDS = 3
"""Of orders: what has failed, the plain ones, and by width with noise."""
ATTEMPTS = KINDS * RULES
"""Under each ceiling in the first round. Both double with each round."""
UNLESS_REFUSED = 4
"""How often the budget is spent while no packing fits the capacity."""
FORGETTING = 0.7
"""What is left of earlier failures with each attempt that learns from them."""
NOISE = 0.3
"""What is ordered by becomes up to so much larger or smaller."""

Order = Callable[[int], tuple[float, ...]]
"""(box) -> its place in the order, the smallest first."""


def improve(
    boxes: Sequence[Box], columns: int, best: Packing, budget: int, capacity: int | None = None
) -> tuple[Packing, int]:
    """A packing with a lower peak or a higher floor, as far as the budget of work goes, and the work that it took. One
    that fits the capacity comes before all others."""
    if best.optimal or budget <= 0:
        return best, 0
    improver = _Improver(boxes, columns, best, budget, capacity)
    return improver.run(), improver.spent


class _Improver:
    def __init__(self, boxes: Sequence[Box], columns: int, best: Packing, budget: int, capacity: int | None) -> None:
        self.boxes, self.best, self.budget, self.capacity = boxes, best, budget, capacity
        self.search, self.orders = Search(boxes, columns), _Orders(boxes, columns)
        self.failures = [0.0] * columns
        self.spent = 0

    @property
    def left(self) -> int:
        """Of the budget."""
        is_refused = self.capacity is not None and self.best.peak > self.capacity
        return self.budget * (UNLESS_REFUSED if is_refused else 1) - self.spent

    @property
    def done(self) -> bool:
        return self.best.optimal or self.left <= 0

    def run(self) -> Packing:
        doubled, patience = 1, min(PATIENCE, self.budget // 100)
        while not self.done:
            self.narrow(range(ATTEMPTS * (doubled - 1), ATTEMPTS * (2 * doubled - 1)), patience * doubled)
            doubled *= 2
        return self.best

    def narrow(self, attempts: range, patience: int) -> None:
        """Bisect between floor and peak. The floor goes first: little room means little to search."""
        low = ceiling = self.best.floor
        while low < self.best.peak and not self.done:
            if not self.reach(ceiling, attempts, patience):
                low = ceiling + 1
            ceiling = self.between(low)

    def between(self, low: int) -> int:
        if self.capacity is not None and low <= self.capacity < self.best.peak:
            return self.capacity
        return (low + self.best.peak) // 2

    def reach(self, ceiling: int, attempts: range, patience: int) -> bool:
        """Whether one of the attempts finds a packing under the ceiling."""
        for attempt in attempts:
            outcome = self.attempt(ceiling, attempt, min(patience, self.left))
            self.spent += outcome.work
            if outcome.impossible:
                self.best = replace(self.best, floor=ceiling + 1)
            if outcome.offsets:
                self.best = packing(self.boxes, outcome.offsets, self.best.floor)
            if outcome.offsets or outcome.impossible or self.left <= 0:
                return outcome.offsets is not None
        return False

    def attempt(self, ceiling: int, number: int, budget: int) -> Outcome:
        """All rules have the same kind of order before it is the next kind's turn."""
        rule, turn = number % RULES, number // RULES
        if turn % KINDS:
            unknown = [0.0] * len(self.failures)
            return self.search.run(ceiling, rule, self.orders.unlearned(turn), budget, unknown)
        self.failures = [FORGETTING * count for count in self.failures]
        return self.search.run(ceiling, rule, self.orders.learned(self.failures), budget, self.failures)


class _Orders:
    """Of boxes, for attempts."""

    def __init__(self, boxes: Sequence[Box], columns: int) -> None:
        self.boxes = boxes
        heights = live_heights(boxes, columns)
        self.widths = [box.last - box.first + 1 for box in boxes]
        self.areas = [width * box.height for width, box in zip(self.widths, boxes, strict=True)]
        self.crowds = [max(heights[box.first : box.last + 1]) for box in boxes]
        self.plain: tuple[Order, ...] = (
            *(self.by_width, self.by_height, self.by_crowd, self.by_birth),
            *(self.by_area, self.by_crowd_and_area),
        )

    def unlearned(self, turn: int) -> list[int]:
        number = turn // KINDS
        if turn % KINDS == 2:
            return self.sorted(self.shaken(self.by_width, turn))
        plain = self.plain[number % len(self.plain)]
        return self.sorted(plain if number < len(self.plain) else self.shaken(plain, turn))

    def sorted(self, key: Order) -> list[int]:
        return sorted(range(len(self.boxes)), key=key)

    def by_width(self, index: int) -> tuple[float, ...]:
        return -self.widths[index], -self.areas[index], -self.crowds[index]

    def by_height(self, index: int) -> tuple[float, ...]:
        return -self.boxes[index].height, -self.widths[index]

    def by_crowd(self, index: int) -> tuple[float, ...]:
        return -self.crowds[index], -self.widths[index], -self.areas[index]

    def by_birth(self, index: int) -> tuple[float, ...]:
        return self.boxes[index].first, -self.widths[index]

    def by_area(self, index: int) -> tuple[float, ...]:
        return (-self.areas[index],)

    def by_crowd_and_area(self, index: int) -> tuple[float, ...]:
        return -self.crowds[index], -self.areas[index]

    def learned(self, failures: Sequence[float]) -> list[int]:
        """What covers the columns in which most has failed; what is about as crucial goes by its width."""
        steps = [_logarithm(1 + count) for count in failures]
        worst = [max(steps[box.first : box.last + 1]) for box in self.boxes]
        return self.sorted(lambda index: (-worst[index], *self.by_width(index)))

    def shaken(self, key: Order, seed: int) -> Order:
        chance = random.Random(seed)
        factors = [chance.uniform(1 - NOISE, 1 + NOISE) for _ in self.boxes]
        return lambda index: tuple(factors[index] * value for value in key(index))


def _logarithm(value: float) -> int:
    """In quarters of octaves, the same on each machine."""
    squared = value * value
    return math.frexp(squared * squared)[1]
