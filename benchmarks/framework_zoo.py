"""Models of PyTorch, Keras and JAX, compiled in two lines and held against their framework's own outputs.

    python benchmarks/framework_zoo.py torch|keras|jax|awkward [--only WORD] [--target generic]

`awkward` are modules of PyTorch, which are also called with other inputs than those that they were compiled with.
Needs the framework: `pip install 'tilewright[torch]'`, `[tensorflow]` or `[jax]`. Agreement is 1e-4 of the output's
largest value. Exits with 1 where a model gives other outputs; what is refused is counted and named.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import tilewright as tw
from tilewright.ir.arrays import as_numpy, leaves

TOLERANCE = 1e-4


@dataclass(frozen=True)
class Row:
    name: str
    verdict: str
    error: float = 0.0
    layers: int = 0
    seconds: float = 0.0


def measure(zoo: ModuleType, name: str, target: str) -> Row:
    """One model: compiled, run, compared."""
    start = time.process_time()
    model, inputs = zoo.case(name)
    try:
        program = tw.compile(model, inputs, target=target)
        copied = getattr(zoo, "copied", copy.deepcopy)
        error = max(_error(program, zoo, copied(model), given) for given in _called_with(zoo, inputs))
    except tw.CompileError as refusal:
        return Row(name, f"refused: {str(refusal).splitlines()[0]}")
    verdict = "agrees" if error <= TOLERANCE else "WRONG"
    return Row(name, verdict, error, len(program.analysis.layers), time.process_time() - start)


def _called_with(zoo: ModuleType, inputs: Any) -> list[Any]:
    again = getattr(zoo, "again", None)
    return [inputs, again(inputs)] if again else [inputs]


def _error(program: Any, zoo: ModuleType, model: Any, inputs: Any) -> float:
    found = list(program.run(*inputs).outputs.values())
    wanted = [as_numpy(leaf) for leaf in leaves([zoo.outputs(model, inputs)])]
    return max(map(distance, found, wanted)) if len(found) == len(wanted) else float("inf")


def distance(found: Any, wanted: Any) -> float:
    """The largest difference as a part of the largest value."""
    if found.shape != wanted.shape:
        return float("inf")
    scale = max(float(np.abs(wanted).max(initial=0)), 1e-12)
    return float(np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max(initial=0)) / scale


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("framework", choices=["torch", "keras", "jax", "awkward"])
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument("--target", default="generic")
    options = parser.parse_args()
    zoo = importlib.import_module(f"benchmarks.{options.framework}_zoo")
    rows = []
    print(f"| {options.framework} model | {options.target} | error / scale | layers | CPU s |\n|---|---|---|---|---|")
    for name in (name for name in zoo.ZOO if options.only in name):
        rows.append(measure(zoo, name, options.target))
        row = rows[-1]
        print(f"| {name} | {row.verdict} | {row.error:.1e} | {row.layers} | {row.seconds:.1f} |", flush=True)
    agreeing = sum(row.verdict == "agrees" for row in rows)
    print(f"\n{agreeing} of {len(rows)} agree, {sum(row.verdict == 'WRONG' for row in rows)} wrong")
    return int(any(row.verdict == "WRONG" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
