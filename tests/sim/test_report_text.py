"""Tables of the simulator's report: columns, and what is bold on a terminal."""

from __future__ import annotations

import io

import pytest

from tilewright.report.text_table import print_table

LINES = ["two rows", "core    cycles", "──────────────", "fc           7", "core 1   4,000"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(target: io.StringIO) -> list[str]:
    print_table(target, "two rows", ("core", "cycles"), [("fc", "7"), ("core 1", "4,000")])
    return target.getvalue().splitlines()


@pytest.mark.fast
def test_columns_are_as_wide_as_their_longest_cell() -> None:
    assert printed(io.StringIO()) == LINES


@pytest.mark.fast
def test_headings_are_bold_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert printed(Terminal()) == [*(f"\x1b[1m{line}\x1b[0m" for line in LINES[:2]), *LINES[2:]]
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed(Terminal()) == LINES
