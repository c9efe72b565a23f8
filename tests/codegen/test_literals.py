"""Numbers as C source read back as the same numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.codegen.literals import array_items, float_literal, number
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def is_float_constant(text: str) -> bool:
    """What C takes for a constant of type float: with a point or an exponent, and the suffix."""
    return re.fullmatch(r"-?(\d+\.\d*|\.\d+|\d+(?=e))(e[+-]?\d+)?f", text) is not None


@given(FINITE)
def test_floats_read_back(value: float) -> None:
    for text in (float_literal(value), array_items(np.array([value], np.float32))):
        assert is_float_constant(text), text
        assert np.float32(text[:-1]).tobytes() == np.float32(value).tobytes(), text


def test_what_is_not_finite_has_a_name() -> None:
    special = np.array([np.nan, np.inf, -np.inf], np.float32)
    assert array_items(special) == "NAN, INFINITY, -INFINITY"
    assert [number(float(value)) for value in special] == ["NAN", "INFINITY", "-INFINITY"]


def test_the_smallest_integers_are_no_negated_constants() -> None:
    """In C -2147483648 is the negative of a number that int does not hold."""
    assert [number(value) for value in (-(2**31), 1 - 2**31, 2**31 - 1)] == ["INT32_MIN", "-2147483647", "2147483647"]
    assert [number(value) for value in (2**31, -(2**31) - 1)] == ["INT64_C(2147483648)", "INT64_C(-2147483649)"]
    assert number(-(2**63)) == "INT64_MIN"


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([-128, 127], np.int8), "-128, 127"),
        (np.array([0, 65535], np.uint16), "0, 65535"),
        (np.array([-(2**31), 5], np.int32), "INT32_MIN, 5"),
        (np.array([2**32 - 1], np.uint32), "4294967295u"),
        (np.array([-(2**63), 2**40], np.int64), "INT64_MIN, INT64_C(1099511627776)"),
        (np.array([2**64 - 1], np.uint64), "UINT64_C(18446744073709551615)"),
        (np.array([True, False]), "1, 0"),
        (np.zeros(0, np.int8), ""),
    ],
)
def test_arrays(array: Array, text: str) -> None:
    assert array_items(array) == text
