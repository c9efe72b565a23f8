"""What would help a layer, from what is wrong with it."""

from __future__ import annotations

from tilewright.passes.quantise.values import Format
from tilewright.quantiser.histogram import Histogram

GOOD_DB = 30.0
"""Noise that hardly any network minds."""
MUCH_CLIPPED = 1e-3
NEAR_DB = 3.0
"""Two noises that differ by less are both to blame."""


def hint_for(total: float, own: float, clipped: float, histogram: Histogram, form: Format) -> str:
    if histogram.is_constant:
        return f"always {histogram.low:.4g} on the samples: give samples that vary"
    if total >= GOOD_DB:
        return ""
    if own > total + NEAR_DB:
        return "most of its noise comes from its inputs and weights: --learn-rounding, or help the layers before it"
    if clipped > MUCH_CLIPPED:
        return f"{clipped:.2%} of values are clipped: int16 for its result, or samples without outliers"
    return "its own rounding: int16 for its result" if form.dtype == "int8" else "its own rounding: keep it in float"
