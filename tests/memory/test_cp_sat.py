"""The solver loads its own libraries where a package shows others to the whole process."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

from tilewright.memory import cp_sat

pytestmark = pytest.mark.fast


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
