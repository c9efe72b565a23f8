from __future__ import annotations

import pytest

from tilewright.accelerator.expressions import Expression
from tilewright.errors import Refusal

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * macs + 40", 64),
        ("ceil_div(macs, 5)", 3),
        ("min(macs, 7) if c == 3 else 0", 7),
        ("1 < c <= 3 and not macs == 0", True),
        ("-c % 4 | 8", 9),
        ("macs / 8", 1.5),
    ],
)
def test_values(text: str, value: float) -> None:
    assert Expression(text)({"macs": 12, "c": 3}) == value


def test_names_are_in_order_and_functions_are_none() -> None:
    assert Expression("max(c, macs) + c * f").names == ("c", "macs", "f")


@pytest.mark.parametrize(
    "text", ["__import__('os')", "c.real", "[c]", "lambda: 1", "c ** 9", "'a'", "open(c)", "(", "f(c)(c)", "c[0]"]
)
def test_programs_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        Expression(text)({"c": 1})


def test_missing_numbers_and_divisions_by_zero_are_refused() -> None:
    with pytest.raises(Refusal, match="needs 'k', which is not known here"):
        Expression("k + 1")({})
    with pytest.raises(Refusal, match="divides by zero"):
        Expression("1 // c")({"c": 0})
