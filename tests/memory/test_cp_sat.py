"""The solver starts without pandas, and with its own libraries where a package shows others to the whole process."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from tilewright.memory import cp_sat
from tilewright.memory.cp_sat import Model


@pytest.mark.skipif(not hasattr(os, "RTLD_DEEPBIND"), reason="only glibc has the flag")
def test_its_own_libraries_come_first_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, cp_sat.CLASHING, raising=False)
    assert not cp_sat.load_flags() & os.RTLD_DEEPBIND
    monkeypatch.setitem(sys.modules, cp_sat.CLASHING, ModuleType(cp_sat.CLASHING))
    assert cp_sat.load_flags() & os.RTLD_DEEPBIND


def test_the_solver_starts_without_pandas() -> None:
    """In a process of its own, where nothing is imported yet."""
    program = """
import sys
from tilewright.memory.cp_sat import Model
model = Model()
count = model.integer(0, 10)
model.at_most([(3, count)], 20)
model.minimize([(-1, count)])
answer = model.solve()
assert answer.status == "OPTIMAL" and answer.values[count] == 6 and answer.objective == answer.bound == -6
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_variable_counts_as_often_as_it_is_named() -> None:
    model = Model()
    count = model.integer(0, 10)
    model.at_most([(1, count), (2, count), (5, model.boolean())], 20)
    model.minimize([(-3, count), (2, count)])
    assert model.solve().values[count] == 6


def test_what_cannot_be_has_no_answer() -> None:
    model = Model()
    model.equal([(2, model.integer(0, 10))], 7)
    answer = model.solve()
    assert (answer.status, answer.is_found) == ("INFEASIBLE", False)


def test_one_of_several_is_chosen() -> None:
    model = Model()
    first, *others = (model.boolean() for _ in range(3))
    model.exactly_one([first, *others])
    model.at_most_one(others)
    model.minimize([(1, first), (1, others[0])])
    answer = model.solve()
    assert [answer.values[var] for var in (first, *others)] == [0, 0, 1]
