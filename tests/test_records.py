"""Frozen dataclasses of ours are as the standard ones but for what it takes to make them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field, replace
from typing import Any

import numpy as np
import pytest

from tilewright import records

pytestmark = pytest.mark.fast


def _kinds(dataclass: Any) -> list[type]:
    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass(frozen=True)
    class One:
        a: Any

    @dataclass(frozen=True)
    class Several:
        a: int
        b: Any = ()
        c: dict[str, int] = field(default_factory=dict, compare=False)
        d: int = field(default=3, repr=False)
        e: list[int] = field(default_factory=list, hash=False)

    @dataclass(frozen=True)
    class Derived(Several):
        f: str = "f"

    @dataclass(frozen=True, eq=False)
    class Itself:
        a: int

    @dataclass(frozen=True)
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True)
    class OwnHash:
        a: Any

        def __hash__(self) -> int:
            return 7

    return [Empty, One, Several, Derived, Itself, Own, OwnHash]


OURS, STANDARD = _kinds(records.dataclass), _kinds(dataclasses.dataclass)
NAN = float("nan")
VALUES: dict[str, list[tuple[Any, ...]]] = {
    "Empty": [()],
    "One": [(1,), ((1, 2),), ("x",), (NAN,)],
    "Several": [(1,), (1, "x"), (2, "x"), (1, "x", {"y": 1}), (1, "x", {}, 4), (1, "x", {}, 4, [5])],
    "Derived": [(1,), (1, "x", {}, 3, [], "g")],
    "Itself": [(1,)],
    "Own": [(1,), (2,)],
    "OwnHash": [([],), (2,)],
}


@pytest.mark.parametrize(("ours", "standard"), list(zip(OURS, STANDARD, strict=True)), ids=list(VALUES))
def test_equality_hashes_and_text_are_the_standard_ones(ours: Any, standard: Any) -> None:
    made = [(ours(*values), standard(*values)) for values in VALUES[ours.__name__]]
    again = [(ours(*values), standard(*values)) for values in VALUES[ours.__name__]]
    for a, b in made:
        assert repr(a) == repr(b)
        for (c, d), (e, f) in zip(made, again, strict=True):
            assert (a == c) == (b == d)
            assert (a == e) == (b == f)
            assert (hash(a) == hash(e)) == (hash(b) == hash(f))
    assert made[0][0] != made[0][1]


def test_they_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        OURS[1](1).a = 2
    assert replace(OURS[2](1), a=2) == OURS[2](2)
    assert copy.deepcopy(OURS[3](1)) == OURS[3](1)


def test_what_cannot_be_hashed_says_so() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(OURS[1]([]))


@records.dataclass(frozen=True)
class Shown:
    inner: Any


def test_a_value_that_holds_itself_has_a_text() -> None:
    inner: list[Any] = []
    inner.append(Shown(inner))
    assert "..." in repr(inner)


def test_arrays_that_are_one_object_are_equal() -> None:
    array = np.arange(3)
    assert Shown(array) == Shown(array)


def test_they_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Shown((1, 2)))) == Shown((1, 2))
