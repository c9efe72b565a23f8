"""Several threads against one on this machine: milliseconds of a call, in turns, and how many times as fast.

    python benchmarks/cpu_threads.py MODEL ... [--threads 2] [--turns 12] [--cpu NAME]

Nothing else should run on the machine: a thread that waits for a processor is what all others wait for.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import tilewright as tw

SECONDS = 0.4
"""Of a turn."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--turns", type=int, default=12, metavar="N")
    parser.add_argument("--cpu", default="native", metavar="NAME", help="the processor that code is compiled for")
    asked = parser.parse_args()
    table = Table("model", "1 thread, ms", f"{asked.threads} threads, ms", "times as fast", "fastest calls")
    for model in asked.models:
        one, several = times(model, asked.threads, asked.turns, asked.cpu)
        middle, fastest = [statistics.median(found) for found in (one, several)], (min(one), min(several))
        table.add_row(
            model.stem, *(f"{1000 * seconds:.3f}" for seconds in middle), f"{middle[0] / middle[1]:.2f}",
            f"{1000 * fastest[0]:.3f} / {1000 * fastest[1]:.3f} = {fastest[0] / fastest[1]:.2f}",
        )  # fmt: skip
    Console().print(table)


def times(model: Path, threads: int, turns: int, cpu: str) -> tuple[list[float], list[float]]:
    """Seconds of calls with one thread, and with several: the median of each turn."""
    calls = [loaded(model, 1, cpu), loaded(model, threads, cpu)]
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(turns):
        for call, seconds in zip(calls, found, strict=True):
            seconds.append(turn(call))
    return found


def loaded(model: Path, threads: int, cpu: str) -> Callable[[], Any]:
    program = tw.compile(model, target="cpu", cpu=cpu, threads=threads, pin=threads > 1)
    library, feeds = program.load(), program.random_inputs().values()
    return lambda: library(*feeds)


def turn(call: Callable[[], Any]) -> float:
    end, seconds = time.perf_counter() + SECONDS, list[float]()
    call()
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
