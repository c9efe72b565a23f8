"""How many of onnx's node tests pass, are refused (and why), or are wrong.

python benchmarks/onnx_node_tests.py [--target NAME] [--cpu PROCESSOR] [--part K/N] [--results FILE] [--jobs N]

Any target will do. On those that are simulated or emulated, programs hold two dozen tests each. `--results` keeps the
outcomes, a line each, and a later run with the same file goes on where this one has ended. `--part 2/8` takes the
second of eight parts, each of which has some tests of every operator.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

from onnx.backend.test.case.test_case import TestCase
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks import node_tests_together
from benchmarks.node_tests_together import Place
from tests.e2e.onnx_nodes import Outcome, parts, run_all

from tilewright import targets
from tilewright.target.runner import HostProcess
from tilewright.target.settings import Settings

TOGETHER = 24
"""Tests in a program that is simulated."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="generic")
    parser.add_argument("--cpu", default="")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/N")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    _print(_outcomes(parser.parse_args()), parser.parse_args().target)


def part_of(said: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", said)
    part, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= count:
        raise argparse.ArgumentTypeError(f"{said}: give K/N with K from 1 to N, as 2/8")
    return part, count


def _outcomes(options: argparse.Namespace) -> list[Outcome]:
    """Those that a file has, and the others as they come, which the file then has as well."""
    known: Path | None = options.results
    lines = known.read_text(encoding="utf-8").splitlines() if known and known.exists() else []
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    part, count = options.part
    done = {outcome.name for outcome in outcomes}
    for outcome in _run([case for case in parts(count)[part - 1] if case.name not in done], options):
        outcomes.append(outcome)
        if known:
            with known.open("a", encoding="utf-8") as file:
                print(json.dumps(asdict(outcome)), file=file)
    return outcomes


def _run(cases: Sequence[TestCase], options: argparse.Namespace) -> Iterator[Outcome]:
    if isinstance(targets.find(options.target).runner, HostProcess) and not options.cpu:
        yield from run_all(options.jobs, cases, options.target)
        return
    limit = {"time_limit": 1.0} if targets.find(options.target).is_tiled else {}
    run = partial(node_tests_together.outcomes, place=Place(options.target, Settings(cpu=options.cpu, **limit)))
    groups = [cases[first : first + TOGETHER] for first in range(0, len(cases), TOGETHER)]
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        yield from chain.from_iterable(pool.map(run, groups))


def _print(outcomes: Sequence[Outcome], target: str) -> None:
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
