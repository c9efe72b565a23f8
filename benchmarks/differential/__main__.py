"""Networks by chance on all targets, against other runtimes: python -m benchmarks.differential --runs 1000

A run is a network on a target; with its seed, its family, its target and --runs 1 it is made again.
What is wrong is made smaller and written as a test into tests/regressions.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.differential import families
from benchmarks.differential.batch import Batch, Judged, batches, judged
from benchmarks.differential.machines import machines
from benchmarks.differential.tally import Tally
from rich.console import Console


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--target", action="append", help="this one, or several, instead of all")
    parser.add_argument("--family", action="append", choices=families.names(), help="the same of networks")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="at most so many")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    here = {one.name: one for one in machines()}
    lacking = [name for name in options.target or () if name not in here]
    if lacking:
        parser.error(f"no target '{lacking[0]}' here; there are {', '.join(here)}")
    known = [here[name] for name in dict.fromkeys(options.target or here)]
    planned = batches(options.seed, options.runs, options.family or families.names(), known)
    raise SystemExit(_run(planned, options.minutes, options.jobs))


def _run(planned: Iterator[Batch], minutes: float, jobs: int) -> int:
    tally, console, progress, until = Tally(), Console(), Console(stderr=True), time.monotonic() + 60 * minutes
    for asked in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked, signal.default_int_handler)  # a shell's background jobs ignore the first
    try:
        for result in _results(planned, jobs):
            for verdict in result.verdicts:
                tally.count(result.batch.family, result.batch.machine.name, verdict)
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
    return f"{done:,} runs, {wrong} wrong: {batch.family} on {batch.machine.name}, seeds from {batch.seeds[0]}"


def _results(planned: Iterator[Batch], jobs: int) -> Iterator[Judged]:
    if jobs == 1:
        yield from map(judged, planned)
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"))
    try:
        yield from pool.map(judged, planned)
    finally:
        pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main()
