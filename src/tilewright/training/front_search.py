"""Which first layers of a step are computed in strips of rows, and in how many, where it is not enough for a budget
that activations are computed again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tilewright.ir.graph import Graph
from tilewright.records import dataclass
from tilewright.training.front_strips import in_front_strips
from tilewright.training.recompute import Choice, Recomputing

FIRST_COUNT, OTHER_COUNTS = 12, (6, 24)
"""Of strips: tried for every activation, and for the one that is best with these."""


@dataclass(frozen=True)
class Sketch:
    """A step in strips, and what may be computed again besides."""

    whole: Recomputing
    known: Recomputing
    activation: str
    count: int

    @cached_property
    def choices(self) -> list[Choice]:
        return self.known.choices()

    @property
    def peak(self) -> int:
        """The least, by an estimate."""
        return self.choices[-1].peak

    def choice_within(self, peak: int) -> Choice:
        """The one with the least work, or that with the fewest bytes."""
        return next((choice for choice in self.choices if choice.peak <= peak), self.choices[-1])

    def graph(self, choice: Choice) -> Graph:
        return self.known.rewritten(choice.again, choice.forgets)

    def again(self, choice: Choice) -> frozenset[str]:
        """All activations of the whole step that are not kept."""
        return frozenset(name for name in self.whole.kept if name in choice.again or name not in self.known.kept)

    def said(self, choice: Choice) -> str:
        again = len(self.again(choice))
        more = (self.known.work + choice.work) / max(self.whole.work, 1) - 1
        return (
            f"to keep to it, all that is in front of '{self.activation}' is computed in {self.count} strips of rows, "
            f"on the way back too; {again} activations are computed again and {len(self.whole.kept) - again} are kept: "
            f"{more:.0%} more work in a step"
        )


def sketches(whole: Recomputing, room: int) -> list[Sketch]:
    """At most two: the one with the fewest strips of those that take so many bytes at most, by an estimate; and the one
    that takes fewest."""
    tried = list(_sketched(whole, [(activation, FIRST_COUNT) for activation in _waists(whole)]))
    if not tried:
        return []
    best = min(tried, key=lambda sketch: sketch.peak)
    tried += _sketched(whole, [(best.activation, count) for count in OTHER_COUNTS])
    fitting = sorted((sketch for sketch in tried if sketch.peak <= room), key=lambda sketch: sketch.count)
    least = min(tried, key=lambda sketch: sketch.peak)
    return [*fitting[:1], *(sketch for sketch in [least] if sketch not in fitting[:1])]


def _waists(whole: Recomputing) -> Iterator[str]:
    """Activations that the way back reads and that are smaller than all before them."""
    kept, least = set(whole.kept), 0
    for node in whole.graph.nodes:
        size = whole.graph.types[node.key].bytes
        if node.key in kept and not node.op.view:
            if size < least:
                yield node.key
            least = min(least or size, size)


def _sketched(whole: Recomputing, wanted: list[tuple[str, int]]) -> Iterator[Sketch]:
    for activation, count in wanted:
        graph = in_front_strips(whole, activation, count)
        if graph is not None:
            yield Sketch(whole, Recomputing(graph), activation, count)
