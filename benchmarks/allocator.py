"""How near to the lower bound the memory planner comes, and what it costs: python benchmarks/allocator.py"""

from __future__ import annotations

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
    for kind, problem in instances():
        table.add_row(*row(kind, problem))
    Console().print(table)


if __name__ == "__main__":
    main()
