"""Runs by family and target: how many, how many were refused and why, and what is wrong."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.differential.judge import REFUSED, WRONG, Verdict
from rich.console import Console
from rich.table import Table

NUMBERS = re.compile(r"'[^']*'|-?\d[\d,.]*")


@dataclass
class Tally:
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Of refusals: the family and the text without numbers."""

    def count(self, family: str, target: str, verdict: Verdict) -> None:
        self.runs[family, target] += 1
        self.refused[family, target] += verdict.status == REFUSED
        self.wrong[family, target] += verdict.status == WRONG
        if verdict.status == REFUSED:
            self.reasons[family, _reason(verdict.reason)] += 1

    def show(self, console: Console) -> None:
        console.print(self._table())
        for (family, reason), count in self.reasons.most_common():
            console.print(f"{count:6} refused  {family}: {reason}", markup=False, soft_wrap=True)

    def _table(self) -> Table:
        families, targets = (sorted({pair[i] for pair in self.runs}) for i in range(2))
        totals = self.runs.total(), self.refused.total(), self.wrong.total()
        table = Table(title="{:,} runs, {:,} refused, {:,} wrong".format(*totals), caption="runs (refused) wrong!")
        table.add_column("family")
        for name in (*targets, "all"):
            table.add_column(name, justify="right")
        for family in (*families, "all"):
            table.add_row(family, *(self._cell(family, target) for target in (*targets, "all")))
        return table

    def _cell(self, family: str, target: str) -> str:
        runs, refused, wrong = (self._sum(counter, family, target) for counter in (self.runs, self.refused, self.wrong))
        parts = [str(runs or "")] + [f"({refused})"] * bool(refused) + [f"{wrong}!"] * bool(wrong)
        return " ".join(parts)

    def _sum(self, counter: Counter[tuple[str, str]], family: str, target: str) -> int:
        return sum(n for (f, t), n in counter.items() if family in (f, "all") and target in (t, "all"))


def _reason(text: str) -> str:
    """The first line without names and numbers."""
    _, _, what = text.splitlines()[0].partition(": ")
    kind = re.search(r"\((\w+)\)", text.splitlines()[0])
    return NUMBERS.sub("#", f"{kind.group(1) + ': ' if kind else ''}{what}")[:160]
