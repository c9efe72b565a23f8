"""Constants with the same elements."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir import digest
from tilewright.ir.digest import Known


@pytest.mark.fast
def test_arrays_are_found_by_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "COMPARED", 64)
    base = np.arange(600, dtype=np.float32)
    other = base.copy()
    other[501] = np.nan  # none of the elements that are looked at first
    known = Known({"base": base, "other": other, "short": base[:10]})
    assert known.find(base) == "base"
    assert known.find(base.reshape(2, 300).copy()) == "base"
    assert known.find(other.copy()) == "other"
    assert known.find(base[:10]) == "short"
    assert known.find(base[::-1]) is None
    assert known.find(base.astype(np.int32)) is None
    last = base.copy()
    last[502] = 0.5
    assert known.find(last) is None
