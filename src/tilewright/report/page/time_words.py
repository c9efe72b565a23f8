"""What a page calls times and speeds: cycles of a chip, microseconds of a computer."""

from __future__ import annotations

from tilewright.profiling.profile import NANOSECONDS, Profile
from tilewright.records import dataclass


@dataclass(frozen=True)
class TimeWords:
    name: str
    unit: str
    scale: float
    """Units in one of what a profile counts."""
    digits: int
    """After the point."""
    speed: str
    short_speed: str
    until: str
    """What a layer's time is."""

    def value(self, counted: int) -> float:
        return counted * self.scale if self.digits else counted

    def figure(self, counted: int) -> str:
        return f"{self.value(counted):,.{self.digits}f}"

    def said(self, counted: int) -> str:
        return f"{self.figure(counted)} {self.unit}"


OF_CHIPS = TimeWords("cycles", "cycles", 1, 0, "MACs per cycle", "MAC/cycle", "until the last core leaves it")
OF_COMPUTERS = TimeWords("time", "us", 1e-3, 2, "GMAC/s", "GMAC/s", "in the fastest of the calls, in microseconds")


def time_words(profile: Profile) -> TimeWords:
    return OF_COMPUTERS if profile.unit == NANOSECONDS else OF_CHIPS
