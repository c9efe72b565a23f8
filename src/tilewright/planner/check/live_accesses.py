"""Who has which bytes of a memory from when to when, found by where they lie: a layer of many cores has thousands of
accesses between two barriers, of which few are near each other."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import field

from tilewright.ir.types import Shape
from tilewright.planner.program.program import CORES
from tilewright.planner.schedule.events import Region, Spans
from tilewright.records import dataclass

BUFFER_CELL = 1024
"""Bytes; buffers that share no run of this length are not compared."""
MANY_CELLS = 64
"""What touches more of them is compared with everything."""
_Cell = tuple[int, ...]


@dataclass
class Access:
    """Who has bytes from when to when: epochs, and positions in the order of an agent's events."""

    region: Region
    writes: bool
    agent: str
    start: tuple[int, int]
    end: tuple[int, int] | None
    """None as long as nobody has waited for it."""
    what: str
    engine: str = ""
    """The accelerator that has them, which does one job after the other; empty for cores and links."""

    def comes_before(self, later: Access) -> bool:
        """Whether it is over before a later one begins, whatever the order between barriers."""
        if self.end is None:
            return bool(self.engine) and self.engine == later.engine
        # Cores of a team are at the same place only at a barrier; a kernel may write over what it has read.
        in_order = self.agent != CORES or self.start == later.start
        return (self.agent == later.agent and in_order) or self.end[0] < later.start[0]

    @property
    def verb(self) -> str:
        return "writes" if self.writes else "reads"


@dataclass
class LiveAccesses:
    """Those of one memory. Windows of one home are told apart by their boxes, all else by bytes."""

    homes: dict[tuple[str, Shape, int, bool], _Boxes] = field(default_factory=dict)
    """(owner, frame and where it begins, whether they write) -> windows."""

    def add(self, access: Access) -> None:
        region = access.region
        key = (region.owner, region.frame, region.base, access.writes)
        boxes = self.homes.get(key)
        if boxes is None:
            cell = tuple(max(1, last - first) for first, last in region.box) if region.owner else (BUFFER_CELL,)
            boxes = self.homes[key] = _Boxes(cell)
        boxes.add(access)

    def near(self, region: Region, writes: bool) -> Iterator[Access]:
        """Every access that may touch what this one touches, where one of the two writes, and some others."""
        for (owner, frame, base, written), boxes in self.homes.items():
            if not (writes or written) or region.stop <= boxes.start or boxes.stop <= region.start:
                continue
            if not owner:
                yield from boxes.near(((region.start, region.stop),))
            elif (owner, frame, base) == (region.owner, region.frame, region.base):
                yield from boxes.near(region.box)
            else:
                yield from boxes.accesses

    def still_open(self) -> LiveAccesses:
        """Without those that are over."""
        kept = LiveAccesses()
        for boxes in self.homes.values():
            for access in boxes.accesses:
                if access.end is None:
                    kept.add(access)
        return kept


@dataclass
class _Boxes:
    """Accesses by the cells of a grid that their boxes touch."""

    cell: _Cell
    accesses: list[Access] = field(default_factory=list)
    cells: dict[_Cell, list[Access]] = field(default_factory=dict)
    large: list[Access] = field(default_factory=list)
    start: int = 0
    stop: int = 0
    """All of their bytes lie between these."""

    def add(self, access: Access) -> None:
        region = access.region
        self.start = min(self.start, region.start) if self.accesses else region.start
        self.stop = max(self.stop, region.stop)
        self.accesses.append(access)
        touched = self._touched(_box(region))
        if touched is None:
            self.large.append(access)
        for cell in touched or ():
            self.cells.setdefault(cell, []).append(access)

    def near(self, box: Spans) -> Iterable[Access]:
        touched = self._touched(box)
        if touched is None:
            return self.accesses
        return itertools.chain(self.large, *(self.cells.get(cell, ()) for cell in touched))

    def _touched(self, box: Spans) -> list[_Cell] | None:
        """The cells of a box, or None where those are many."""
        ranges = [range(first // size, -(-last // size)) for (first, last), size in zip(box, self.cell, strict=True)]
        count = 1
        for one in ranges:
            count *= len(one)
        return None if count > MANY_CELLS else list(itertools.product(*ranges))


def _box(region: Region) -> Spans:
    return region.box if region.owner else ((region.start, region.stop),)
