"""Random single operators, compiled by Vela and corrected as the compiler does it, run on the model of the NPU,
against TensorFlow Lite Micro's reference.

    python -m benchmarks.ethos_u_operators --runs 40

Of each kind of operator so many; the NPUs are taken in turns. `left` counts those that Vela leaves to a CPU, or does
not compile, `other` those that TensorFlow Lite Micro does not take.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter

import numpy as np
import tflite
from tests.support.npu_cases import CASES
from tests.support.tflite_cases import random_input
from tests.support.tflite_runtimes import micro
from tests.support.vela import TYPES, Compiled, VelaError, as_compiled, results

from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.configurations import CONFIGURATIONS


def inputs(data: bytes, draw: np.random.Generator) -> list[Array]:
    graph = tflite.Model.GetRootAsModel(data, 0).Subgraphs(0)
    tensors = [graph.Tensors(graph.Inputs(k)) for k in range(graph.InputsLength())]
    shapes = [tuple(one.Shape(k) for k in range(one.ShapeLength())) for one in tensors]
    return [random_input(draw, TYPES[one.Type()], shape) for one, shape in zip(tensors, shapes, strict=True)]


def outcome(name: str, seed: int, npu: str, options: list[str]) -> str:
    draw = np.random.default_rng([seed, sum(name.encode())])
    data = CASES[name](draw)
    given = inputs(data, draw)
    try:
        made = as_compiled(data, npu, options)
    except VelaError:
        return "left"
    file = Compiled(made)
    if not file.is_whole():
        return "left"
    try:
        wanted = micro(data, given, file.graph.OutputsLength())
    except Exception:
        return "other"
    try:
        found = results(made, npu, given)
    except CompileError as error:
        return f"fault: {error}"
    same = all(np.array_equal(a.reshape(-1), b.reshape(-1)) for a, b in zip(found, wanted, strict=True))
    return "equal" if same else "differs"


@contextlib.contextmanager
def silent() -> object:
    """Both runtimes print from C."""
    saved, null = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        yield
    finally:
        for number, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="of each kind of operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", help="only these")
    parser.add_argument("--vela", default="", help="more options of Vela's")
    chosen = parser.parse_args()
    npus, totals = list(CONFIGURATIONS), Counter[str]()
    for name in chosen.kind or CASES:
        counts, first = Counter[str](), dict[str, int]()
        for seed in range(chosen.seed, chosen.seed + chosen.runs):
            with silent():
                found = outcome(name, seed, npus[seed % len(npus)], chosen.vela.split())
            counts[found] += 1
            first.setdefault(found, seed)
        totals += counts
        bad = {key: first[key] for key in counts if key not in ("equal", "left", "other")}
        print(f"{name:16} {dict(counts)} {bad or ''}", flush=True)
    print(f"all: {dict(totals)}")
    return int(totals.total() != totals["equal"] + totals["left"] + totals["other"])


if __name__ == "__main__":
    sys.exit(main())
