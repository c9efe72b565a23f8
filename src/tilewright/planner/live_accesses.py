"""Who has which bytes while cores, links and accelerators work side by side: two that cannot go together are found when
the second one begins."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from tilewright.errors import InternalError
from tilewright.planner.event_regions import overlap, place
from tilewright.planner.events import Region


@dataclass(eq=False)
class Access:
    """Who has bytes from when to when."""

    region: Region
    writes: bool
    agent: str
    start: int
    """The epoch in which it begins."""
    end: int | None
    """The epoch in which it is over; None as long as nobody has waited for it."""
    what: str
    engine: str = ""
    """The accelerator that has them, which does one job after the other; empty for cores and links."""

    def comes_before(self, later: Access) -> bool:
        """Whether it is over before a later one begins, whatever the order between barriers."""
        if self.end is None:
            return bool(self.engine) and self.engine == later.engine
        return self.agent == later.agent or self.end < later.start

    @property
    def verb(self) -> str:
        return "writes" if self.writes else "reads"


@dataclass
class _ByStart:
    """Accesses of one kind in the order of their first bytes."""

    starts: list[int] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    longest: int = 0

    def add(self, access: Access) -> None:
        region = access.region
        at = bisect_right(self.starts, region.start)
        self.starts.insert(at, region.start)
        self.accesses.insert(at, access)
        self.longest = max(self.longest, region.stop - region.start)

    def near(self, region: Region) -> list[Access]:
        """All that may have a byte of it, and few others."""
        first = bisect_right(self.starts, region.start - self.longest)
        return self.accesses[first : bisect_left(self.starts, region.stop)]


Kind = tuple[bool, str]
"""Whether it writes, and whose home it is a part of: homes of two tensors are rarely the same bytes."""


@dataclass
class LiveAccesses:
    """Those of this epoch, and those that are not over."""

    memories: dict[str, dict[Kind, _ByStart]] = field(default_factory=dict)
    open: list[Access] = field(default_factory=list)
    """Those that were not over when they began."""

    def add(self, made: Access) -> None:
        """Raises `InternalError` if someone else has these bytes."""
        for (writes, _), others in self.memories.get(made.region.memory, {}).items():
            if not writes and not made.writes:
                continue
            for other in others.near(made.region):
                if not other.comes_before(made) and overlap(other.region, made.region):
                    what = f"{made.verb} {place(made.region)} while {other.what} {other.verb} it"
                    raise InternalError(made.what, what)
        self._keep(made)

    def end_epoch(self) -> None:
        """Behind a barrier everything is over that someone has waited for."""
        kept = [access for access in self.open if access.end is None]
        self.memories.clear()
        self.open.clear()
        for access in kept:
            self._keep(access)

    def _keep(self, access: Access) -> None:
        kinds = self.memories.setdefault(access.region.memory, {})
        kinds.setdefault((access.writes, access.region.owner), _ByStart()).add(access)
        if access.end is None:
            self.open.append(access)
