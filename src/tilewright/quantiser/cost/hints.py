"""What would help a layer, from what is wrong with it."""

from __future__ import annotations

from tilewright.passes.quantise.values import Format
from tilewright.quantiser.cost.measure import EXACT_DB
from tilewright.quantiser.ranges.histogram import Histogram
from tilewright.records import dataclass

GOOD_DB = 30.0
"""Noise that hardly any network minds."""
MUCH_CLIPPED = 1e-3
NEAR_DB = 4.0
"""Noise that is weaker by more than this is not what is to blame."""


@dataclass(frozen=True)
class Parts:
    """Signal-to-noise ratios of a result: in all, and if only it or only its layer's weights were rounded."""

    total: float
    own: float
    weights: float | None
    clipped: float


def hint_for(parts: Parts, histogram: Histogram, form: Format) -> str:
    if histogram.is_constant:
        return f"always {histogram.low:.4g} on the samples: give samples that vary"
    if parts.total <= -EXACT_DB and parts.own > 0:
        return "no numbers in places, as where zero divides: int16 or float for what it reads"
    if parts.total >= GOOD_DB:
        return ""
    if parts.weights is not None and parts.weights < min(parts.total + NEAR_DB, parts.own):
        return "rounded weights: --learn-rounding, or more bits for them"
    if parts.own > parts.total + NEAR_DB:
        return "noise of its inputs: help the layers before it"
    if parts.clipped > MUCH_CLIPPED:
        return f"{parts.clipped:.2%} clipped: int16, or samples without outliers"
    return "its own rounding: int16" if form.dtype == "int8" else "its own rounding: float"
