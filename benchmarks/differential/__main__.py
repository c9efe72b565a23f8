"""Networks by chance on all targets, against other runtimes: python -m benchmarks.differential --runs 1000

A run is a network on a target; with its seed, its family, its target and --runs 1 it is made again.
What is wrong is made smaller and written as a test into tests/regressions.
"""

from __future__ import annotations

import argparse
import random
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from benchmarks.differential import families
from benchmarks.differential.drawing import draw
from benchmarks.differential.judge import WRONG, Place, Verdict, verdicts
from benchmarks.differential.machines import Machine, machines
from benchmarks.differential.regression import write
from benchmarks.differential.shrink import Small, smallest
from benchmarks.differential.tally import Tally
from onnx import printer
from rich.console import Console

STRIDE = 64
"""Seeds of a batch begin at a multiple of it; settings and what is watched depend on that."""
WATCHED_ONE_IN = 4


@dataclass(frozen=True)
class Batch:
    """Networks of one family that are one program."""

    family: str
    machine: Machine
    seeds: tuple[int, ...]

    @property
    def place(self) -> Place:
        number = self.seeds[0] // STRIDE
        return Place(self.machine.target, self.machine.settings(number), number % WATCHED_ONE_IN == 0)


@dataclass(frozen=True)
class Judged:
    batch: Batch
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    """What is wrong, with its test."""


def batches(first: int, runs: int, names: Sequence[str], known: Sequence[Machine]) -> Iterator[Batch]:
    """Seeds from the first on; family and machine of a batch by chance."""
    seed, left = first, runs
    while left > 0:
        number = seed // STRIDE
        chance = random.Random(number)
        machine = chance.choices(known, [one.share / one.together for one in known])[0]
        count = min(left, machine.together, (number + 1) * STRIDE - seed)
        yield Batch(chance.choice(names), machine, tuple(range(seed, seed + count)))
        seed, left = (number + 1) * STRIDE, left - count


def judged(batch: Batch) -> Judged:
    drawn = [draw(batch.family, seed, batch.machine.room) for seed in batch.seeds]
    found = verdicts([case for case, _ in drawn], batch.place)
    notes = [
        _note(batch, seed, Small(case, tuple(choices)), verdict)
        for seed, (case, choices), verdict in zip(batch.seeds, drawn, found, strict=True)
        if verdict.status == WRONG
    ]
    return Judged(batch, tuple(found), tuple(notes))


def _note(batch: Batch, seed: int, found: Small, verdict: Verdict) -> str:
    def is_wrong(case: object) -> bool:
        return verdicts([case], batch.place)[0].status == WRONG  # type: ignore[list-item]

    small = smallest(batch.family, batch.machine.room, found, is_wrong)
    reason = verdicts([small.case], batch.place)[0].reason
    path = write(small.case, batch.family, seed, batch.place)
    text = printer.to_text(small.case.proto) if small.case.suffix == ".onnx" else f"{len(small.case.model)} bytes"
    again = f"--family {batch.family} --target {batch.machine.target} --seed {seed} --runs 1"
    return f"WRONG {again}\n{verdict.reason}\nsmallest: {reason}\n{text}\n{path}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--target", action="append", help="this one, or several, instead of all")
    parser.add_argument("--family", action="append", choices=families.names(), help="the same of networks")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="at most so many")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    known = [one for one in machines() if options.target is None or one.target in options.target]
    if not known:
        parser.error(f"no such target here; there are {', '.join(one.target for one in machines())}")
    planned = batches(options.seed, options.runs, options.family or families.names(), known)
    raise SystemExit(_run(planned, options.minutes, options.jobs))


def _run(planned: Iterator[Batch], minutes: float, jobs: int) -> int:
    tally, console, progress, until = Tally(), Console(), Console(stderr=True), time.monotonic() + 60 * minutes
    for asked in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked, signal.default_int_handler)  # a shell's background jobs ignore the first
    try:
        for result in _results(planned, jobs):
            for verdict in result.verdicts:
                tally.count(result.batch.family, result.batch.machine.target, verdict)
            progress.print(_line(result.batch, tally), markup=False)
            for note in result.notes:
                console.print(note, markup=False, soft_wrap=True)
            if time.monotonic() > until:
                break
    except KeyboardInterrupt:
        console.print("interrupted")
    tally.show(console)
    return 1 if tally.wrong.total() else 0


def _line(batch: Batch, tally: Tally) -> str:
    done, wrong = tally.runs.total(), tally.wrong.total()
    return f"{done:,} runs, {wrong} wrong: {batch.family} on {batch.machine.target}, seeds from {batch.seeds[0]}"


def _results(planned: Iterator[Batch], jobs: int) -> Iterator[Judged]:
    if jobs == 1:
        yield from map(judged, planned)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(judged, planned)


if __name__ == "__main__":
    main()
