"""How many of onnx's node tests pass, are refused (and why), or are wrong.

python benchmarks/onnx_node_tests.py [--target cpu]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.e2e.onnx_nodes import Outcome, node_tests, run_all


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="generic", choices=["generic", "cpu", "gpu"])
    target = parser.parse_args().target
    outcomes = list(run_all(os.cpu_count() or 1, node_tests(), target))
    console = Console()
    summary = Table(title=f"{len(outcomes)} node tests of onnx, compiled to C for {target} and run")
    summary.add_column("outcome")
    summary.add_column("tests", justify="right")
    for status, count in Counter(outcome.status for outcome in outcomes).most_common():
        summary.add_row(status, str(count))
    console.print(summary)
    console.print(_reasons([outcome for outcome in outcomes if outcome.status == "refused"]))
    for outcome in outcomes:
        if outcome.status == "wrong":
            console.print(f"wrong: {outcome.name}: {outcome.detail}", markup=False)


def _reasons(refused: list[Outcome]) -> Table:
    table = Table(title="why tests are refused")
    table.add_column("tests", justify="right")
    table.add_column("reason")
    for reason, count in Counter(_reason(outcome.detail) for outcome in refused).most_common(60):
        table.add_row(str(count), reason)
    return table


def _reason(text: str) -> str:
    """The message without the names in it, so that equal reasons count together."""
    first = text.splitlines()[0].split(": ", 1)[-1]
    return re.sub(r"'[^']*'", "'...'", first)[:110]


if __name__ == "__main__":
    main()
