"""Packing boxes under a ceiling: each box keeps its columns (time) and is free to move in height (bytes).

A depth-first search over skylines. The lowest valley of the skyline is filled from its left end: either a box that
fits between its walls comes to rest on its floor, or the floor rises to the lower wall. Each placement, with its boxes
dropped as far as they go, is reached this way, so that a search which runs dry proves that the ceiling is too low.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

SKY = 1 << 62
"""The height of the walls at both ends of time."""

RISE = -1
"""The choice of placing nothing on a valley's floor."""

WINNERS = 3
"""How many rules go on after the race of all of them."""

PATIENCE = 4
"""Steps for each box before a rule is given up under a ceiling. Both double with each round."""


class Box(NamedTuple):
    """Columns `first` to `last`, both included."""

    first: int
    last: int
    height: int


@dataclass(frozen=True)
class Packing:
    """An offset for each box. No packing has a peak below the floor."""

    offsets: tuple[int, ...]
    peak: int
    floor: int

    @property
    def optimal(self) -> bool:
        return self.peak == self.floor


class Step(NamedTuple):
    """The skyline's height from column `start` up to the next step."""

    start: int
    height: int


@dataclass(slots=True)
class Valley:
    """The lowest stretch of a skyline, and what is still to be tried on its floor."""

    at: int
    first: int
    last: int
    floor: int
    left: int
    right: int
    column: int
    """Where boxes start that are to be tried next."""
    low: int
    high: int
    """The columns on which the failure of all choices so far depends."""
    skipped: int = 0
    """The most that remains to be placed over a column left of `column`."""
    choices: list[int] = field(default_factory=list)


Rank = Callable[[int, Valley], tuple[float, ...]]
"""(box, valley) -> its place in the order of trial, the smallest first."""


@dataclass(frozen=True)
class Outcome:
    offsets: tuple[int, ...] | None
    steps: int
    impossible: bool = False
    """The whole tree was searched: no placement stays under the ceiling."""


def live_heights(boxes: Sequence[Box], columns: int) -> list[int]:
    """The sum of the heights of the boxes in each column."""
    change = [0] * (columns + 1)
    for first, last, height in boxes:
        change[first] += height
        change[last + 1] -= height
    total = 0
    return [total := total + step for step in change[:columns]]


class Search:
    """Places all boxes under the ceiling, or gives up after a number of steps."""

    def __init__(self, boxes: Sequence[Box], columns: int, ceiling: int, rank: Rank) -> None:
        self.boxes, self.columns, self.ceiling, self.rank = boxes, columns, ceiling, rank
        self.remaining = live_heights(boxes, columns)
        self.left = len(boxes)
        self.offsets = [0] * len(boxes)
        self.waiting: list[list[int]] = [[] for _ in range(columns)]
        for index, box in enumerate(boxes):
            self.waiting[box.first].append(index)
        self.history: list[tuple[Valley, list[Step], int]] = []

    def run(self, budget: int) -> Outcome:
        skyline = [Step(0, 0)]
        valley = self.lowest(skyline)
        for step in range(budget):
            while not self.has_choice(valley):
                if not self.history:
                    return Outcome(None, step, impossible=True)
                valley, skyline = self.jump_back(valley)
            choice = valley.choices.pop()
            self.history.append((valley, skyline, choice))
            skyline = self.apply(choice, valley, skyline)
            if not self.left:
                return Outcome(tuple(self.offsets), step + 1)
            valley = self.lowest(skyline)
        return Outcome(None, budget)

    def lowest(self, skyline: list[Step]) -> Valley:
        heights = [SKY, *(height for _, height in skyline), SKY]
        floor = min(heights)
        at = heights.index(floor) - 1
        first, end = skyline[at].start, skyline[at + 1].start if at + 1 < len(skyline) else self.columns
        return Valley(at, first, end - 1, floor, heights[at], heights[at + 2], first, first - 1, end)

    def has_choice(self, valley: Valley) -> bool:
        """Whether anything is left to try; boxes are looked up column by column, and rising is the last resort."""
        while not valley.choices and valley.column <= valley.last and valley.skipped + valley.floor < self.ceiling:
            if self.waiting[valley.column]:
                valley.choices = self.resting(valley)
            valley.skipped = max(valley.skipped, self.remaining[valley.column])
            valley.column += 1
        if not valley.choices and valley.column == valley.last + 1:
            valley.choices = self.rising(valley)
            valley.column += 1
        return bool(valley.choices)

    def resting(self, valley: Valley) -> list[int]:
        """Boxes that may rest on the floor from a column on, with nothing left of them: the best one last."""
        boxes, room = self.boxes, self.ceiling - valley.skipped
        found = {
            boxes[index]: index
            for index in self.waiting[valley.column]
            if boxes[index].last <= valley.last and min(valley.left, valley.floor + boxes[index].height) <= room
        }
        return sorted(found.values(), key=lambda index: self.rank(index, valley), reverse=True)

    def rising(self, valley: Valley) -> list[int]:
        rise = min(valley.left, valley.right)
        return [RISE] if rise < SKY and valley.skipped + rise <= self.ceiling else []

    def apply(self, choice: int, valley: Valley, skyline: list[Step]) -> list[Step]:
        if choice == RISE:
            return _splice(skyline, valley.at, [Step(valley.first, min(valley.left, valley.right))])
        first, last, height = self.boxes[choice]
        self.offsets[choice] = valley.floor
        self.waiting[first].remove(choice)
        self.left -= 1
        for column in range(first, last + 1):
            self.remaining[column] -= height
        top = valley.floor + height
        # Nothing rests left of the leftmost box, so the floor there rises to its lower wall.
        before = [Step(valley.first, min(valley.left, top))] if first > valley.first else []
        after = [Step(last + 1, valley.floor)] if last < valley.last else []
        return _splice(skyline, valley.at, [*before, Step(first, top), *after])

    def jump_back(self, failed: Valley) -> tuple[Valley, list[Step]]:
        """Undo up to the last choice that touched a column on which the failure depends: others cannot mend it."""
        while self.history:
            valley, skyline, choice = self.history.pop()
            last = valley.last if choice == RISE else self.undo(choice)
            if valley.first <= failed.high and failed.low <= last:
                valley.low, valley.high = min(valley.low, failed.low), max(valley.high, failed.high)
                return valley, skyline
        return failed, []

    def undo(self, index: int) -> int:
        first, last, height = self.boxes[index]
        self.waiting[first].append(index)
        self.left += 1
        for column in range(first, last + 1):
            self.remaining[column] += height
        return last


def _splice(skyline: list[Step], at: int, steps: list[Step]) -> list[Step]:
    """The skyline with one step replaced by others; equal neighbours become one."""
    spliced = skyline[:at]
    for step in (*steps, *skyline[at + 1 : at + 2]):
        if not spliced or spliced[-1].height != step.height:
            spliced.append(step)
    return spliced + skyline[at + 2 :]


# ---- the search put to use ------------------------------------------------------------------------------------------


def packing(boxes: Sequence[Box], offsets: tuple[int, ...], floor: int) -> Packing:
    peak = max((offset + box.height for box, offset in zip(boxes, offsets, strict=True)), default=0)
    return Packing(offsets, peak, floor)


def improve(boxes: Sequence[Box], columns: int, best: Packing, budget: int) -> Packing:
    """A packing with a lower peak or a higher floor, as far as the budget of steps goes."""
    return best if best.optimal or budget <= 0 else _Improver(boxes, columns, best, budget).run()


class _Rule(NamedTuple):
    """Which way time runs, and which rank orders the choices."""

    view: int
    rank: int


class _Improver:
    def __init__(self, boxes: Sequence[Box], columns: int, best: Packing, budget: int) -> None:
        mirrored = [Box(columns - 1 - last, columns - 1 - first, height) for first, last, height in boxes]
        self.views: tuple[Sequence[Box], ...] = (boxes, mirrored)
        self.columns, self.best, self.budget = columns, best, budget
        self.ranks = [_ranks(view, noise=0) for view in self.views]

    @property
    def done(self) -> bool:
        return self.best.optimal or self.budget <= 0

    def run(self) -> Packing:
        rules, doubled = self.race(), 1
        while not self.done:
            self.narrow(rules[: WINNERS * doubled], PATIENCE * doubled * len(self.views[0]))
            # A rule that failed would fail again in the same way, but for some noise.
            self.ranks = [_ranks(view, noise=doubled) for view in self.views]
            doubled *= 2
        return self.best

    def race(self) -> list[_Rule]:
        """Run each rule once without a ceiling; the rules by the peaks they reach."""
        rules = [_Rule(view, rank) for view in range(2) for rank in range(len(self.ranks[0]))]
        peaks = {}
        for rule in rules:
            if self.done:
                break
            offsets = self.attempt(rule, SKY, self.budget).offsets
            peaks[rule] = packing(self.views[0], offsets, 0).peak if offsets else SKY
        return sorted(peaks, key=lambda rule: peaks[rule])

    def narrow(self, rules: Sequence[_Rule], steps: int) -> None:
        """Bisect between floor and peak. The floor goes first: little room means little to search."""
        low = ceiling = self.best.floor
        while low < self.best.peak and not self.done:
            if not self.reach(rules, ceiling, steps):
                low = ceiling + 1
            ceiling = (low + self.best.peak) // 2

    def reach(self, rules: Sequence[_Rule], ceiling: int, steps: int) -> bool:
        """Whether one of the rules finds a packing under the ceiling."""
        for rule in rules:
            outcome = self.attempt(rule, ceiling, steps)
            if outcome.offsets or outcome.impossible or self.budget <= 0:
                return outcome.offsets is not None
        return False

    def attempt(self, rule: _Rule, ceiling: int, steps: int) -> Outcome:
        rank = self.ranks[rule.view][rule.rank]
        outcome = Search(self.views[rule.view], self.columns, ceiling, rank).run(min(steps, self.budget))
        self.budget -= outcome.steps
        if outcome.impossible:
            self.best = replace(self.best, floor=ceiling + 1)
        if outcome.offsets:
            self.best = min(self.best, packing(self.views[0], outcome.offsets, self.best.floor), key=lambda p: p.peak)
        return outcome


def _ranks(boxes: Sequence[Box], noise: int) -> tuple[Rank, ...]:
    """The highest box first, the highest or largest of those flush with the valley's walls, the longest."""
    rng = random.Random(noise)
    weights = [1 + rng.random() if noise else 1.0 for _ in boxes]
    heights = [-box.height * weight for box, weight in zip(boxes, weights, strict=True)]
    widths = [(box.last - box.first + 1) * weight for box, weight in zip(boxes, weights, strict=True)]

    def flush(index: int, valley: Valley) -> int:
        _, last, height = boxes[index]
        top = valley.floor + height
        return -(top == valley.left) - (last == valley.last) * (1 + (top == valley.right))

    return (
        lambda index, valley: (heights[index],),
        lambda index, valley: (flush(index, valley), heights[index]),
        lambda index, valley: (flush(index, valley), heights[index] * widths[index]),
        lambda index, valley: (-widths[index], heights[index]),
    )
