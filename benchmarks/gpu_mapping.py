"""Processor and GPU: how far the mapping is from the best of all placements, by the model of costs.

    python benchmarks/gpu_mapping.py [--graphs 200] [--seed 1]

Networks by chance of 3 to 12 layers that either could compute, beside some that only one of them can: chains, branches
that meet again, several outputs, states. All placements are tried; copies and what both do at the same time count."""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Iterator

import numpy as np

from tilewright.planner.arena.side_by_side import Layer, Problem, predicted, solve

MOST_MOVABLE = 12
ALLOWED = 0.05


def problem(random: np.random.Generator) -> Problem:
    """Times in nanoseconds: of a GPU a launch and little more, of a processor up to a thousand times that."""
    count = int(random.integers(3, MOST_MOVABLE + 1))
    layers, tensors, movable = [], 1 + int(random.integers(2)), 0
    inputs = tensors
    while movable < count:
        reads = tuple({int(random.integers(max(0, tensors - 4), tensors)) for _ in range(random.integers(1, 3))})
        engine = 1500.0 + float(random.exponential(2000))
        cores: float | None = float(10 ** random.uniform(2, 5.5))
        kind = random.random()
        times = (cores, None) if kind < 0.1 else (None, engine) if kind < 0.15 else (cores, engine)
        layers.append(Layer(reads, (tensors,), times))
        movable += None not in times
        tensors += 1
    read = {tensor for layer in layers for tensor in layer.reads}
    outputs = frozenset(tensor for tensor in range(inputs, tensors) if tensor not in read or random.random() < 0.05)
    copies = {tensor: 9000.0 + float(10 ** random.uniform(1, 5)) for tensor in range(tensors)}
    kept = ((0, tensors - 1),) if inputs > 1 and random.random() < 0.3 else ()
    return Problem(tuple(layers), copies, outputs, kept)


def placements(of: Problem) -> Iterator[frozenset[int]]:
    for count in range(len(of.movable) + 1):
        yield from map(frozenset, itertools.combinations(of.movable, count))


def gap(of: Problem) -> tuple[float, float]:
    """How much longer than the best of all, and the seconds that finding it took."""
    start = time.perf_counter()
    found = predicted(of, solve(of))
    seconds = time.perf_counter() - start
    return found / min(predicted(of, one) for one in placements(of)) - 1, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    found = [gap(problem(random)) for _ in range(given.graphs)]
    gaps = [one for one, _ in found]
    best, close = sum(one < 1e-9 for one in gaps), sum(one <= ALLOWED for one in gaps)
    taken = statistics.mean(seconds for _, seconds in found) * 1e3
    print(f"{given.graphs} networks of 3 to {MOST_MOVABLE} layers that processor and GPU could compute")
    print(f"best of all placements found: {best}, within 5 %: {close}")
    print(f"gap: mean {statistics.mean(gaps):.2%}, largest {max(gaps):.2%}; {taken:.1f} ms each")


if __name__ == "__main__":
    main()
