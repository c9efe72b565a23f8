"""Frozen dataclasses of ours are as the standard ones but for what it takes to make them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field, replace
from pathlib import Path
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

    @dataclass(frozen=True)
    class ByKeyword:
        a: int
        b: int = field(default=2, kw_only=True)
        c: int = 3
        d: dict[str, int] = field(default_factory=dict, init=False, compare=False)

        def __post_init__(self) -> None:
            self.d["sum"] = self.a + self.b + self.c

    return [Empty, One, Several, Derived, Itself, Own, OwnHash, ByKeyword]


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
    "ByKeyword": [(1,), (1, 4)],
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


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    *[((), {}), ((1,), {}), ((1, 2), {}), ((1, 2, 3), {}), ((1, 2, 3, 4, 5, 6), {})],
    *[((), {"a": 1}), ((1,), {"b": 5}), ((1, 2), {"b": 5}), ((1,), {"d": {}}), ((1,), {"z": 1})],
]


def _said(kind: Any, values: tuple[Any, ...], named: dict[str, Any]) -> str:
    try:
        return str(kind(*values, **named))
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize(("ours", "standard"), list(zip(OURS, STANDARD, strict=True)), ids=list(VALUES))
def test_arguments_are_taken_and_refused_as_by_the_standard_ones(ours: Any, standard: Any) -> None:
    assert str(inspect.signature(ours)) == str(inspect.signature(standard))
    for values, named in CALLS:
        assert _said(ours, values, named) == _said(standard, values, named)


@pytest.mark.parametrize(
    ("below", "above"),
    [(records.dataclass, dataclasses.dataclass), (dataclasses.dataclass, records.dataclass)],
    ids=["ours first", "theirs first"],
)
def test_standard_ones_may_be_of_the_same_line(below: Any, above: Any) -> None:
    @below(frozen=True)
    class Base:
        a: int

    @above(frozen=True)
    class Derived(Base):
        b: int

    made = Derived(1, 2)
    assert (made, made.a, made.b) == (Derived(1, 2), 1, 2)
    for name in ("a", "b", "c"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, name, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.a
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        above(type("Open", (Base,), {}))


def test_a_class_below_may_have_attributes_of_its_own() -> None:
    class Below(OURS[1]):  # type: ignore[misc]
        pass

    made = Below(1)
    made.other = 2
    del made.other
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.a = 2


def test_all_frozen_ones_are_ours() -> None:
    folder = Path(records.__file__).parent
    texts = {path: path.read_text("utf-8") for path in folder.rglob("*.py") if path.name != "records.py"}
    frozen = [path for path, text in texts.items() if "\n@dataclass(frozen" in text]
    assert len(frozen) > 300
    assert not [path for path in frozen if "from tilewright.records import dataclass" not in texts[path]]


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
