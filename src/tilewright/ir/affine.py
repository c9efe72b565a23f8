"""Index expressions over named loops: the range of a tensor axis that a range of loop values touches."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.records import dataclass

Span = tuple[int, int]
"""A half-open range [start, stop)."""

Box = Mapping[str, Span]
"""For each loop, the half-open range of its values."""


@dataclass(frozen=True)
class Affine:
    """`offset + sum(coefficient * loop)`, covering `width` elements from there on."""

    terms: tuple[tuple[str, int], ...] = ()
    offset: int = 0
    width: int = 1

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.offset + other, self.width)
        terms = dict(self.terms)
        for loop, coefficient in other.terms:
            terms[loop] = terms.get(loop, 0) + coefficient
        return Affine(tuple(terms.items()), self.offset + other.offset, self.width + other.width - 1)

    def __sub__(self, other: int) -> Affine:
        return self + -other

    def __mul__(self, factor: int) -> Affine:
        return Affine(tuple((loop, c * factor) for loop, c in self.terms), self.offset * factor, self.width)

    @property
    def loops(self) -> tuple[str, ...]:
        return tuple(loop for loop, _ in self.terms)

    def span(self, box: Box) -> Span:
        """The axis range touched while every loop runs over its range in `box`; empty where a loop has no values."""
        low = high = self.offset
        for loop, coefficient in self.terms:
            start, stop = box[loop]
            if start >= stop:
                return 0, 0
            first, last = coefficient * start, coefficient * (stop - 1)
            low, high = (low + first, high + last) if first <= last else (low + last, high + first)
        return low, high + self.width


def loops(names: str) -> tuple[Affine, ...]:
    """One expression per name: `n, c = loops("n c")`."""
    return tuple(Affine(((name, 1),)) for name in names.split())


def axis_loops(rank: int) -> tuple[Affine, ...]:
    """One loop per axis of a tensor, named d0, d1, ..."""
    return tuple(Affine(((f"d{axis}", 1),)) for axis in range(rank))


def whole(size: int) -> Affine:
    """All of an axis, whatever the loops are."""
    return Affine(width=size)


FIRST = Affine()
"""Always element 0: a broadcast axis."""


def clip(span: Span, size: int) -> Span:
    """The part of a range that lies inside an axis (empty where it lies outside)."""
    start, stop = span
    # Comparisons: planning asks millions of times, and `min` and `max` take as long as all the rest.
    start = 0 if start < 0 else size if start > size else start
    stop = 0 if stop < 0 else size if stop > size else stop
    return start, start if stop < start else stop


def outside(span: Span, size: int) -> Span:
    """How many elements of a range lie before and after the axis: the local padding."""
    length = span[1] - span[0]
    return min(max(-span[0], 0), length), min(max(span[1] - size, 0), length)
