"""Workers of the fast subset share its files, also those that are named: every test is run by one of them. Every case
is run always or by the thorough subset."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

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
    is_property: bool = False
    marks: list[str] = field(default_factory=list)

    @property
    def function(self) -> SimpleNamespace:
        return SimpleNamespace(is_hypothesis_test=self.is_property)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return getattr(self, name, None)

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
