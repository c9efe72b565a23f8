"""How near to the lower bound the memory planner comes, and what it costs: python benchmarks/allocator.py [FOLDER]

The folder has instances as google/minimalloc's benchmarks are: NAME.CAPACITY.csv with the columns id, lower, upper and
size. Each must fit its capacity.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.memory.instances import random_problem, residual_network, zero_waste

from tilewright.memory.allocator import Buffer, Problem, solve
from tilewright.memory.validate import check_placement


def instances() -> Iterator[tuple[str, Problem]]:
    yield "residual network", residual_network(16)
    for buffers in (100, 200, 500, 1000):
        yield "random, short lives", random_problem(1, buffers, buffers // 2, buffers // 30, 4096)
    for buffers in (100, 200, 500, 1000):
        yield "random, long lives", random_problem(1, buffers, buffers // 2, buffers // 8, 4096)
    for buffers in (50, 100, 150, 200, 500):
        yield "zero waste", zero_waste(1, buffers, buffers // 2, 4096)


def published(folder: Path) -> Iterator[tuple[str, Problem]]:
    for path in sorted(folder.glob("*.csv")):
        name, capacity = path.stem.split(".")
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        buffers = (Buffer(row["id"], int(row["size"]), int(row["lower"]), int(row["upper"]) - 1) for row in rows)
        yield name, Problem(tuple(buffers), 1, int(capacity))


def plain_first_fit(problem: Problem) -> int:
    """The peak of what most compilers do: in the order of birth, each buffer at the lowest free place."""
    placed: list[tuple[int, int, Buffer]] = []
    for buffer in sorted(problem.buffers, key=lambda buffer: buffer.first):
        offset, size = 0, -(-buffer.bytes // problem.alignment) * problem.alignment
        for start, end, other in sorted(placed, key=lambda entry: entry[0]):
            if other.last < buffer.first or offset + size <= start:
                continue
            offset = max(offset, end)
        placed.append((offset, offset + size, buffer))
    return max(end for _, end, _ in placed)


def row(kind: str, problem: Problem) -> list[str]:
    start = time.process_time()
    solution = solve(problem)
    seconds = time.process_time() - start
    check_placement(problem, solution)
    plain = plain_first_fit(problem)
    peaks = [f"{number:,}" for number in (solution.lower_bound, plain, solution.peak)]
    gaps = [f"{peak / solution.lower_bound - 1:.1%}" for peak in (plain, solution.peak)]
    method = solution.method.split(" ")[0]
    return [kind, str(len(problem.buffers)), peaks[0], peaks[1], gaps[0], peaks[2], gaps[1], f"{seconds:.2f}", method]


def main() -> None:
    table = Table(title="Peak bytes of memory plans")
    for name in ("problem", "buffers", "lower bound", "first-fit", "gap", "tilewright", "gap", "CPU s", "method"):
        table.add_column(name, justify="left" if name in ("problem", "method") else "right")
    folders = [Path(word) for word in sys.argv[1:]]
    for kind, problem in [one for folder in folders for one in published(folder)] or instances():
        table.add_row(*row(kind, problem))
    Console().print(table)


if __name__ == "__main__":
    main()
