"""What the buffers of a memory hold, found by their bytes."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import field

from tilewright.planner.schedule.events import Region
from tilewright.records import dataclass


@dataclass
class HeldBuffers:
    """Regions that do not overlap. Those without bytes are not kept: nothing can be wrong with what they hold."""

    starts: list[int] = field(default_factory=list)
    """Of all regions, in order."""
    regions: dict[int, Region] = field(default_factory=dict)
    """By their starts."""

    def __iter__(self) -> Iterator[Region]:
        return iter(self.regions.values())

    def __contains__(self, region: Region) -> bool:
        return region.start == region.stop or self.regions.get(region.start) == region

    def hold(self, region: Region) -> None:
        """Instead of whatever was there."""
        self.forget(region.start, region.stop)
        if region.start < region.stop:
            bisect.insort(self.starts, region.start)
            self.regions[region.start] = region

    def forget(self, start: int, stop: int) -> None:
        first = bisect.bisect_right(self.starts, start)
        if first and self.regions[self.starts[first - 1]].stop > start:
            first -= 1
        last = max(first, bisect.bisect_left(self.starts, stop))
        for one in self.starts[first:last]:
            del self.regions[one]
        del self.starts[first:last]
