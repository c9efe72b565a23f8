"""The table of a study whose points differ in their clocks: cycles do not tell them apart, times do."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tilewright.exploring.results import Results
from tilewright.exploring.row import AGREES, Row
from tilewright.report.study_table import figure_text, print_study

pytestmark = pytest.mark.fast


def table(*clocks: int) -> str:
    rows = [
        Row("m", "cortex-m4", {"clock": mhz}, AGREES, key=str(at), metrics={"cycles": 4000, "milliseconds": 4.0 / mhz})
        for at, mhz in enumerate(clocks)
    ]
    found = Results("s", "s", ("clock",), ("cycles",), tuple(rows), len(rows), len(rows), 1, 1.0, 1.0)
    written = io.StringIO()
    print_study(Console(file=written, width=120), found)
    return written.getvalue()


def test_different_clocks_show_times() -> None:
    text = table(80, 160)
    assert " ms " in text
    assert "0.05" in text
    assert "0.025" in text


def test_one_clock_does_not() -> None:
    assert " ms " not in table(80, 80)


def test_large_figures_are_written_out() -> None:
    assert figure_text("area", 40112.5) == "40,112"
    assert figure_text("macs_per_cycle", 0.2771) == "0.277"
