"""Indices of a program as C, and which of them may leave the tiles of their layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tilewright.ir.affine import Affine
from tilewright.planner.program.program import CORE, PERIOD, TEAM, TILES, For, at
from tilewright.records import dataclass

TEAM_IN_C = "TW_CORES"


@dataclass(frozen=True)
class Indices:
    """What is known of names in indices: at some place of a program."""

    texts: Mapping[str, str]
    """Names that are called otherwise in C, or are numbers."""
    fewest: int
    """Tiles that the layer has at the least."""
    ranges: Mapping[str, tuple[Affine, Affine]] = field(default_factory=dict)
    """Loop variables -> their first and last value."""

    def inside(self, loop: For) -> Indices:
        last = loop.stop + loop.step * -1 if loop.step == loop.first else loop.stop - 1
        return Indices(self.texts, self.fewest, {**self.ranges, loop.variable: (loop.first, last)})

    def text(self, index: Affine) -> str:
        """Positive terms first."""
        terms = sorted(((name, factor) for name, factor in index.terms if factor), key=lambda term: -term[1])
        offset = index.offset
        words: list[str] = []
        for name, factor in terms:
            known = self.texts.get(name, TEAM_IN_C if name == TEAM else name)
            if known.lstrip("-").isdigit():
                offset += factor * int(known)
                continue
            sign = ("-" if factor < 0 else "") if not words else (" - " if factor < 0 else " + ")
            words.append(sign + (known if abs(factor) == 1 else f"{abs(factor)} * {known}"))
        if offset or not words:
            words.append(str(offset) if not words else f" {'-' if offset < 0 else '+'} {abs(offset)}")
        return "".join(words)

    def equals(self, index: Affine) -> str:
        """That an index is 0: what is subtracted stands on the right."""
        left = Affine(tuple(term for term in index.terms if term[1] > 0), max(index.offset, 0))
        right = Affine(tuple((name, -factor) for name, factor in index.terms if factor < 0), max(-index.offset, 0))
        return "" if left == right else f"{self.text(left)} == {self.text(right)}"

    def condition(self, tile: Affine) -> str:
        """That there is such a tile; empty where there always is."""
        terms = []
        if not self._is_positive(tile):
            terms.append(f"{self.text(tile)} >= 0")
        if not self._is_positive(at(TILES) + tile * -1 - 1):
            terms.append(f"{self.text(tile)} < {self.text(at(TILES))}")
        return " && ".join(terms)

    def _is_positive(self, index: Affine) -> bool:
        """Whether it is 0 or more whatever the loops are at, as far as is easily seen."""
        for name in reversed(list(self.ranges)):
            factor = dict(index.terms).get(name, 0)
            rest = Affine(tuple(term for term in index.terms if term[0] != name), index.offset)
            low, high = self.ranges[name]
            index = rest + (low if factor > 0 else high) * factor if factor else index
        factors = dict(index.terms)
        core = factors.pop(CORE, 0)
        if core < 0:  # at most one less than there are
            factors[TEAM] = factors.get(TEAM, 0) + core
            index = index + -core
        least = {TILES: self.fewest, TEAM: 1, PERIOD: 1}
        known = all(factor >= 0 and name in least for name, factor in factors.items() if factor)
        return known and index.offset + sum(least[name] * factor for name, factor in factors.items() if factor) >= 0
