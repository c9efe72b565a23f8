"""Ranges of a tensor worth trying, from its histogram: all that was seen, or less of it for finer steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.ir.types import Array, limits
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.ranges.histogram import Histogram
from tilewright.records import dataclass

PERCENTILES = (99.99, 99.9)
STEPS = 40
"""Widths of the range that are tried for the least squared error or entropy."""
NARROWEST = 0.2
"""Of the range that was seen: less is never a good idea for bytes."""
LEAST_SCALE = 1e-8


@dataclass(frozen=True)
class Candidate:
    method: str
    format: Format


def candidates(histogram: Histogram, dtype: str) -> list[Candidate]:
    """One for each method; those that give the same range are one."""
    low, high = min(histogram.low, 0.0), max(histogram.high, 0.0)
    found = {"min-max": (low, high)}
    if dtype == "int8" and not histogram.is_constant:
        values, counts = histogram.used()
        found |= {f"percentile {share}": _percentile(values, counts, histogram, share) for share in PERCENTILES}
        found |= dict(_searched(values, counts, (low, high), dtype))
    formats = {method: format_of_range(*span, dtype) for method, span in found.items()}
    first = {span: method for method, span in reversed(formats.items())}
    return [Candidate(method, span) for span, method in first.items()]


def format_of_range(low: float, high: float, dtype: str) -> Format:
    """Bytes are asymmetric, with zero on a level of its own; 16-bit numbers are symmetric."""
    low, high = min(low, 0.0), max(high, 0.0)
    bottom, top = limits(dtype)
    if dtype == "int16":
        scale = np.float32(max(-low, high) / top or 1.0)
        return Format(dtype, (float(max(scale, np.float32(LEAST_SCALE))),), (0,))
    # A tensor that is always zero has a range without a width: any scale will do.
    scale = np.float32((high - low) / (top - bottom) or 1.0)
    scale = max(scale, np.float32(LEAST_SCALE))
    zero = min(max(round(float(bottom - low / float(scale))), bottom), top)
    return Format(dtype, (float(scale),), (zero,))


def _percentile(values: Array, counts: Array, histogram: Histogram, share: float) -> tuple[float, float]:
    """The range without the outermost values to either side."""
    values = np.append(values, 0.0)
    counts = np.append(counts, histogram.zeros)
    order = np.argsort(values)
    below = np.cumsum(counts[order]) / max(counts.sum(), 1)
    outside = (1 - share / 100) / 2
    first, last = (min(int(at), len(order) - 1) for at in np.searchsorted(below, [outside, 1 - outside]))
    return float(values[order[first]]), float(values[order[last]])


def _searched(
    values: Array, counts: Array, span: tuple[float, float], dtype: str
) -> Iterator[tuple[str, tuple[float, float]]]:
    """The ranges of least squared error and of least lost information among many narrower ones."""
    tried = list(_narrower(span))
    measured = [measured_errors(values, counts, format_of_range(*one, dtype)) for one in tried]
    errors, losses = zip(*measured, strict=True)
    yield "squared error", tried[int(np.argmin(errors))]
    yield "entropy", tried[int(np.argmin(losses))]


def _narrower(span: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Both ends come in together, or only the further one, as long as it is the further one."""
    low, high = span
    for factor in np.linspace(1.0, NARROWEST, STEPS):
        yield low * factor, high * factor
        limit = max(-low, high) * factor
        if low < 0 < high:
            yield max(low, -limit), min(high, limit)


def measured_errors(values: Array, counts: Array, form: Format) -> tuple[float, float]:
    """The squared error of a format on values in ascending order, and the information that it loses."""
    scale, levels = _levels(values, form)
    distances = levels * scale - values
    from_lowest = levels.astype(np.int64) + (form.zero - limits(form.dtype)[0])
    inside = np.abs(distances) <= form.scale
    return float(np.sum(counts * distances**2)), _divergence(counts, from_lowest, inside, form)


def _divergence(counts: Array, levels: Array, inside: Array, form: Format) -> float:
    """How many bits a value would take more if it were coded by what its level says about it: Kullback and Leibler's
    divergence of the values from the same with all of a level alike. What is clipped counts with its last level."""
    low, high = limits(form.dtype)
    reference = np.where(inside, counts, 0).astype(np.float64)
    bins = np.bincount(levels[inside], minlength=high - low + 1)
    kept = np.bincount(levels, reference, high - low + 1)
    first, last = np.searchsorted(levels, [1, high - low])
    for level, those in ((0, slice(first)), (high - low, slice(last, None))):
        at = np.flatnonzero(inside[those])
        if at.size:
            reference[those][at[0]] += counts[those].sum() - kept[level]
    spread = (kept / np.maximum(bins, 1))[levels]
    used = (reference > 0) & (spread > 0)
    p, q = reference[used] / reference.sum(), spread[used] / max(kept.sum(), 1)
    lost = 1 - float(kept.sum()) / float(counts.sum())
    return float(np.sum(p * np.log(p / q))) + lost


def rounded(values: Array, form: Format) -> Array:
    """What a format makes of numbers."""
    scale, levels = _levels(values, form)
    levels *= scale
    return levels


def _levels(values: Array, form: Format) -> tuple[Any, Array]:
    """A format's scale in the type of the numbers, and how often it is in each of them."""
    low, high = limits(form.dtype)
    scale = values.dtype.type(form.scale) if values.dtype.kind == "f" else form.scale
    levels = np.asarray(values / scale)
    np.rint(levels, out=levels)
    np.clip(levels, low - form.zero, high - form.zero, out=levels)
    return scale, levels


def clipped_share(histogram: Histogram, form: Format) -> float:
    """The part of all values that lies outside what a format can hold."""
    values, counts = histogram.used()
    outside = np.abs(rounded(values, form) - values) > form.scale
    return float(counts[outside].sum()) / max(histogram.total, 1)
