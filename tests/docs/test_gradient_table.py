"""The page lists the operators that have gradients, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright import ops

pytestmark = pytest.mark.fast

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_operators_with_gradients() -> None:
    ruled = [kind.__name__ for kind in ops.all_operators() if kind.has_rule()]
    cells = ["LSTMCells", "GRUCells", "RNNCells"]
    assert f"| {', '.join(sorted([*ruled, *cells], key=str.lower))} |" in PAGE.read_text()
