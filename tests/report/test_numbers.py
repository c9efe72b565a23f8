"""Times as people write them."""

import pytest

import tilewright as tw
from tilewright.report.numbers import duration, exact_size, milliseconds, size

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.78e-4, "378 us"), (0.0999, "99.9 ms"), (1.254, "1.25 s"), (36.6, "36.6 s"), (99.6, "1 min 40 s"),
     (250, "4 min 10 s"), (7260, "2 h 1 min")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(36.627, "36.63 ms"), (999.4, "999.4 ms"), (1.465e4, "14.65 s"), (2.5e5, "4 min 10 s")]
)
def test_milliseconds_have_no_exponents(value: float, text: str) -> None:
    assert milliseconds(value) == text


@pytest.mark.parametrize(
    ("value", "text", "marked"),
    [(0, "0 B", "0 B"), (768, "768 B", "768 B"), (1280, "1.2 KiB", "1.25 KiB"), (9 * 2**17, "1.1 MiB", "1.125 MiB")],
)
def test_marks_of_an_axis_are_exact(value: int, text: str, marked: str) -> None:
    assert (size(value), exact_size(value)) == (text, marked)


def test_dir_shows_the_public_names() -> None:
    assert set(tw.__all__) <= set(dir(tw))
    assert all(hasattr(tw, name) for name in dir(tw))
