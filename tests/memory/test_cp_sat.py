"""The solver loads its own libraries where a package shows others to the whole process."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from tilewright.memory import cp_sat


@pytest.mark.skipif(not hasattr(os, "RTLD_DEEPBIND"), reason="only glibc has the flag")
def test_flags_hold_while_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(cp_sat, "_module", lambda: seen.append(sys.getdlopenflags()))
    before = sys.getdlopenflags()
    monkeypatch.delitem(sys.modules, cp_sat.CLASHING, raising=False)
    cp_sat.load()
    monkeypatch.setitem(sys.modules, cp_sat.CLASHING, ModuleType(cp_sat.CLASHING))
    cp_sat.load()
    assert seen == [before, os.RTLD_NOW | os.RTLD_DEEPBIND]
    assert sys.getdlopenflags() == before


def test_the_solver_starts_without_tables_and_has_them_when_asked() -> None:
    """In a process of its own, where nothing is imported yet."""
    program = """
import subprocess
import sys
from tilewright.memory import cp_sat
cp_model = cp_sat.load()
model, solver = cp_model.CpModel(), cp_model.CpSolver()
count = model.new_int_var(0, 10, "")
model.add(3 * count <= 20)
model.maximize(count)
assert solver.solve(model) == cp_model.OPTIMAL and solver.value(count) == 6
assert "pandas" not in sys.modules
import pandas
counts = model.new_int_var_series("counts", pandas.Index(["a", "b"]), 2, 4)
assert solver.solve(model) == cp_model.OPTIMAL and list(solver.values(counts).index) == ["a", "b"]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
