"""Memory problems to test and to measure with."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tilewright.memory.allocator import Buffer, Problem, shown

Rectangle = tuple[int, int, int, int]
"""Time from and to, bytes from and to; ends excluded."""


def zero_waste(seed: int, buffers: int, steps: int, units: int, alignment: int = 16) -> Problem:
    """A rectangle of time and bytes cut into buffers, so that a placement without any waste exists."""
    rng = random.Random(seed)
    rectangles = [(0, steps, 0, units)]
    while len(rectangles) < buffers:
        areas = [(right - left) * (top - bottom) for left, right, bottom, top in rectangles]
        (chosen,) = rng.choices(range(len(rectangles)), areas)
        rectangles[chosen : chosen + 1] = _cut(rng, rectangles[chosen])
    rng.shuffle(rectangles)
    return _problem(
        [(left, right - 1, (top - bottom) * alignment) for left, right, bottom, top in rectangles], alignment
    )


def random_problem(seed: int, buffers: int, steps: int, lifetime: int, size: int) -> Problem:
    """Births, lifetimes and sizes at random."""
    rng = random.Random(seed)
    births = [rng.randrange(steps) for _ in range(buffers)]
    return _problem([(birth, birth + rng.randint(0, lifetime), rng.randint(1, size)) for birth in births], 16)


def residual_network(blocks: int) -> Problem:
    """The buffers of a chain of blocks of three layers with a shortcut around each."""
    shapes = []
    for block in range(blocks):
        step, size = 4 * block, 64 * 1024 >> block * 3 // blocks
        shapes += [(step, step + 4, size), (step + 1, step + 2, size // 4), (step + 2, step + 3, size // 4)]
        shapes += [(step + 3, step + 4, size)]
    return _problem(shapes, 16)


def one_after_the_other(problems: Sequence[Problem]) -> Problem:
    """Nothing of one lives together with anything of another."""
    buffers: list[Buffer] = []
    for number, problem in enumerate(problems):
        start = 1 + max((buffer.last for buffer in buffers), default=-1)
        buffers += [
            replace(one, name=f"{number}.{shown(one.name)}", first=one.first + start, last=one.last + start)
            for one in problem.buffers
        ]
    return Problem(tuple(buffers), problems[0].alignment)


def _cut(rng: random.Random, whole: Rectangle) -> list[Rectangle]:
    """The rectangle in two, by time or by bytes, or in five, around a middle: the hardest to put together again."""
    left, right, bottom, top = whole
    if rng.random() < 0.3 and right - left >= 3 and top - bottom >= 3:
        return _pinwheel(rng, whole)
    if rng.random() < 0.5 and right - left >= 2:
        cut = rng.randint(left + 1, right - 1)
        return [(left, cut, bottom, top), (cut, right, bottom, top)]
    if top - bottom >= 2:
        cut = rng.randint(bottom + 1, top - 1)
        return [(left, right, bottom, cut), (left, right, cut, top)]
    return [whole]


def _pinwheel(rng: random.Random, whole: Rectangle) -> list[Rectangle]:
    left, right, bottom, top = whole
    x, y = rng.randint(left + 1, right - 2), rng.randint(bottom + 1, top - 2)
    u, v = rng.randint(x + 1, right - 1), rng.randint(y + 1, top - 1)
    return [(left, x, bottom, v), (x, right, bottom, y), (u, right, y, top), (left, u, v, top), (x, u, y, v)]


def _problem(shapes: list[tuple[int, int, int]], alignment: int) -> Problem:
    buffers = (Buffer(f"b{index}", size, first, last) for index, (first, last, size) in enumerate(shapes))
    return Problem(tuple(buffers), alignment)
