"""Sizes that a caller says are what they would be as numbers, at every size."""

import math
import random

import pytest

from tilewright.ir.length import Length, length, lengths_in, numbers_of, resolved
from tilewright.ir.types import TensorType

pytestmark = pytest.mark.fast

BATCH, TIME = length("batch", 1, 8), length("time", 2, 60)


def test_arithmetic_follows_numbers_at_every_size() -> None:
    for seed in range(40):
        chance = random.Random(seed)
        build = [chance.choice("+-*/%") for _ in range(4)]
        numbers = [chance.randint(1, 9) for _ in build]

        def computed(size: int, build: list[str] = build, numbers: list[int] = numbers) -> int:
            for sign, number in zip(build, numbers, strict=True):
                size = {
                    "+": size + number, "-": size - number + 9, "*": size * number, "/": size // number,
                    "%": size % number + size,
                }[sign]  # fmt: skip
            return size

        found = computed(TIME)
        for time in range(2, 61):
            assert resolved(found, {"time": time}) == computed(time), (build, numbers, time)
        assert int(found) == computed(60)


def test_what_comes_out_even_leaves_no_division() -> None:
    assert BATCH * TIME * 64 // (TIME * 8) == 8 * BATCH
    assert (BATCH * 3 + BATCH) // BATCH == 4
    assert math.prod((BATCH, 4, TIME)) // ((TIME * BATCH) * 2) == 2
    assert (TIME + 1) * (TIME + 2) // (TIME + 2) == TIME + 1
    assert TIME - TIME == 0
    assert not isinstance(TIME - TIME, Length)


def test_a_length_equals_no_number() -> None:
    assert TIME != 60
    assert length("time", 1, 60) != TIME
    assert length("time", 2, 60) == TIME
    assert TensorType("float32", (60,)) != TensorType("float32", (TIME,))
    assert TIME <= 60
    assert max(TIME, 1) is TIME
    assert length("time", 5, 5) == 5


def test_c_divides_as_python_does() -> None:
    size = (TIME - 5 + 4) // 2 + 1
    assert isinstance(size, Length)
    assert size.form.c({"time": "t"}) == "((t - 1) / (2)) + 1"
    assert str(TensorType("int8", (1, size, BATCH * 2))) == "i8[1x(time - 1) // (2) + 1<=30x2*batch<=16]"
    rounded_up = -(-TIME // 4)
    assert isinstance(rounded_up, Length)
    assert [rounded_up.form.at({"time": n}) for n in (2, 4, 5, 60)] == [1, 1, 2, 15]


def test_lengths_inside_of_things() -> None:
    kind = TensorType("int8", (BATCH, 3))
    assert [one.form for one in lengths_in({"a": [kind]})] == [BATCH.form]  # type: ignore[attr-defined]
    assert resolved({"a": (kind, [TIME])}, {"batch": 2, "time": 7}) == {"a": (TensorType("int8", (2, 3)), [7])}
    assert numbers_of((BATCH, TIME * 2)) == (8, 120)
