"""What a point gave: one row of a study's results, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from tilewright.exploring.axes import Value
from tilewright.records import dataclass

AGREES, DISAGREES, REFUSED = "agrees", "disagrees", "refused"
TIMED_OUT, DIED, FAULT = "timed out", "died", "fault"
STATUSES = (AGREES, DISAGREES, REFUSED, TIMED_OUT, DIED, FAULT)

LASTING = frozenset({AGREES, DISAGREES, REFUSED})
"""Statuses that would be the same if the point were computed again."""


@dataclass(frozen=True)
class Row:
    model: str
    target: str
    settings: Mapping[str, Value]
    """By axis."""
    status: str
    reason: str = ""
    hint: str = ""
    """What to try."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """By column (`columns.py`); what a target does not tell is not there."""
    key: str = ""
    """A hash of all that the row depends on."""

    @property
    def seconds(self) -> float:
        return self.metrics.get("seconds", 0.0)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> Row:
        return Row(**found)


class DiskFull(Exception):
    """Nothing can be computed any more: no row of one point, but the end of the study."""
