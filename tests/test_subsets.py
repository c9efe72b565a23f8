"""Workers of the fast subset share its files, also those that are named: every test is run by one of them. Every case
is run always or by the thorough subset."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from tests import conftest

ROOT = Path(__file__).parents[1]
WORKERS = 3

pytestmark = pytest.mark.fast


def test_every_test_has_one_worker() -> None:
    paths = sorted((ROOT / "tests" / "toolchain").glob("test_*.py"))
    found = []
    for number in range(WORKERS):
        given = {conftest.SHARES: True, "workerid": f"gw{number}", "workercount": WORKERS}
        config = cast(Any, SimpleNamespace(workerinput=given, rootpath=ROOT))
        found += [path for path in paths if conftest._is_own(path, config)]
    assert sorted(found) == paths


@dataclass
class Case:
    """As much of pytest's as is looked at."""

    nodeid: str
    one_in: pytest.Mark | None = None
    in_turns: pytest.Mark | None = None
    is_property: bool = False
    marks: list[str] = field(default_factory=list)

    @property
    def function(self) -> SimpleNamespace:
        return SimpleNamespace(is_hypothesis_test=self.is_property)

    def get_closest_marker(self, name: str) -> pytest.Mark | bool | None:
        return getattr(self, name, None) or (True if name in self.marks else None)

    def add_marker(self, name: str) -> None:
        self.marks.append(name)


def left_out(cases: list[Case], wanted: str) -> list[str]:
    conftest.mark_thorough(cast("list[pytest.Item]", cases), wanted)
    return [case.nodeid for case in cases if conftest.THOROUGH in case.marks]


def test_one_case_in_so_many_is_run_always() -> None:
    third, second = pytest.mark.one_in(3).mark, pytest.mark.one_in(2, first=1).mark
    cases = [Case(f"a[{n}]", third) for n in range(5)] + [Case(f"b[{n}]", second) for n in range(3)] + [Case("c[x]")]
    assert left_out(cases, "not thorough") == ["a[1]", "a[2]", "a[4]", "b[0]", "b[2]"]
    assert left_out([Case("b[0]", second)], "not thorough") == []


def test_properties_are_part_of_the_thorough_subset() -> None:
    assert left_out([Case("a", is_property=True), Case("b")], "thorough") == ["a"]
    assert left_out([Case("a", is_property=True), Case("b")], "not thorough") == []


def test_every_thorough_case_has_a_turn_within_ten_changes() -> None:
    fourth = pytest.mark.one_in(4).mark
    had: list[str] = []
    for turn in range(7, 7 + conftest.TURNS):
        cases = [Case(f"a[{n}]", fourth) for n in range(400)]
        missing = left_out(cases, "")
        conftest.take_turn(cast("list[pytest.Item]", cases), turn)
        now = [case.nodeid for case in cases if conftest.IN_TURN in case.marks]
        assert 0 < len(now) < len(missing) / 4
        had += now
    assert sorted(had) == sorted(missing)


def test_cases_that_take_turns_are_each_run_once_in_so_many_changes() -> None:
    third = pytest.mark.in_turns(3).mark
    had: list[str] = []
    for turn in range(7, 10):
        cases = [Case(f"a[{n}]", in_turns=third) for n in range(90)]
        conftest.take_turn(cast("list[pytest.Item]", cases), turn)
        conftest.wait_for_turn(cast("list[pytest.Item]", cases), turn)
        now = [case.nodeid for case in cases if conftest.THOROUGH not in case.marks]
        assert 15 < len(now) < 45
        assert not any(conftest.IN_TURN in case.marks for case in cases)
        had += now
    assert sorted(had) == sorted(case.nodeid for case in cases)


def test_nothing_waits_for_longer_than_ten_changes() -> None:
    case = Case("a", in_turns=pytest.mark.in_turns(conftest.TURNS + 1).mark)
    with pytest.raises(pytest.UsageError, match="a is run in one of 11 changes: 10 at most"):
        conftest.wait_for_turn(cast("list[pytest.Item]", [case]), 7)


def test_properties_have_more_examples_in_their_turn() -> None:
    @given(integers())
    @settings(max_examples=3)
    def holds(n: int) -> None: ...

    counts = []
    for turn in range(conftest.TURNS):
        case = SimpleNamespace(nodeid="holds", function=copy_of(holds), get_closest_marker=lambda name: None)
        conftest.take_turn([cast(pytest.Item, case)], turn)
        counts.append(case.function._hypothesis_internal_use_settings.max_examples)
    assert sorted(counts) == [3] * 9 + [9]


def copy_of(test: Any) -> Any:
    """A property as pytest has it."""
    return SimpleNamespace(
        is_hypothesis_test=True, _hypothesis_internal_use_settings=test._hypothesis_internal_use_settings
    )


def test_changes_advance_the_turn() -> None:
    """A change is rarely as long as this."""
    log = ["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"]
    last = subprocess.run(
        ["git", "-C", str(ROOT), "log", "-1", "--format=%H", "--", "tests/turn.py"], capture_output=True, text=True
    )
    if not last.stdout.strip():
        pytest.skip("no history of this file here")
    since = subprocess.run([*log, f"^{last.stdout.strip()}"], capture_output=True, text=True, check=True)
    assert int(since.stdout) < 150, "advance the number in tests/turn.py"
