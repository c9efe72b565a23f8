from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.types import Array
from tilewright.quantiser.ranges.histogram import Histogram
from tilewright.quantiser.ranges.ranges import candidates, clipped_share, format_of_range, measured_errors, rounded

RANDOM = np.random.default_rng(5)


def seen(*parts: Array) -> Histogram:
    histogram = Histogram()
    for part in parts:
        histogram.add(part.astype(np.float32))
    return histogram


def test_it_grows_and_loses_nothing() -> None:
    parts = [RANDOM.standard_normal(1000) * size for size in (0.01, 1.0, 300.0, 5.0)]
    histogram = seen(*parts, np.zeros(10))
    assert histogram.total == 4010
    assert histogram.zeros == 10
    whole = np.concatenate(parts).astype(np.float32)
    assert (histogram.low, histogram.high) == (whole.min(), whole.max())


def test_two_become_one_as_if_they_had_been_one() -> None:
    parts = [RANDOM.standard_normal(500) * size for size in (40.0, 0.3)]
    merged, whole = seen(parts[0]), seen(*parts)
    merged.merge(seen(parts[1]))
    np.testing.assert_array_equal(merged.counts, whole.counts)
    assert merged.exponent == whole.exponent
    other = seen(parts[1])
    other.merge(seen(parts[0]))
    np.testing.assert_array_equal(other.counts, whole.counts)


def test_errors_from_bins_are_those_of_the_values() -> None:
    data = RANDOM.standard_normal(20000).astype(np.float32)
    form = format_of_range(-2.0, 2.5, "int8")
    real = float(np.sum((rounded(data, form) - data) ** 2))
    squared, _ = measured_errors(*seen(data).used(), form)
    assert squared == pytest.approx(real, rel=0.05)
    clipped = np.mean((data < -2.0) | (data > 2.5))
    assert clipped_share(seen(data), form) == pytest.approx(clipped, abs=0.005)


def test_an_outlier_is_clipped_for_the_least_squared_error() -> None:
    data = np.append(RANDOM.standard_normal(1000000), 12.0)
    found = {candidate.method: candidate.format for candidate in candidates(seen(data), "int8")}
    assert found["squared error"].scale < found["min-max"].scale * 0.8
    assert "percentile 99.9" in found


@pytest.mark.parametrize("value", [0.0, 3.5, -2.0])
def test_a_range_without_width_has_a_format(value: float) -> None:
    (candidate,) = candidates(seen(np.full(10, value)), "int8")
    np.testing.assert_allclose(rounded(np.full(3, value, np.float32), candidate.format), value, rtol=1e-5)


def test_zero_is_always_exact() -> None:
    for low, high in ((-1.0, 2.0), (0.3, 5.0), (-7.0, -1.0)):
        for dtype in ("int8", "int16"):
            assert rounded(np.zeros(1, np.float32), format_of_range(low, high, dtype))[0] == 0.0
