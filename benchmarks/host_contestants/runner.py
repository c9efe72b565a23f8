"""One contestant in a process of its own: python runner.py KIND ARTEFACT INPUTS.npz THREADS

Loads the network, computes once, and then does what it reads on stdin, a line each, answering with a line of JSON:
`run SECONDS` gives the seconds of each of some inferences and those of processors, `outputs FILE.npz` stores what was
computed.
KIND names a module beside this file: its `load(path, threads)` gives a function from a list of arrays to another one.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Compute = Callable[[list[np.ndarray]], list[np.ndarray]]
WARM, WARM_SECONDS = 3, 2.0
"""Inferences before memory is read, as long as they do not take longer."""


def resident(field: str) -> int:
    """Bytes of this process: VmHWM at most, VmRSS now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def timed(compute: Compute, inputs: list[np.ndarray], seconds: float, most: float = math.inf) -> list[list[float]]:
    """One inference, and others while there is time for them: the seconds of each, and those of processors."""
    found: list[list[float]] = []
    end = time.perf_counter() + seconds
    while not found or (time.perf_counter() < end and len(found) < most):
        start, busy = time.perf_counter(), time.process_time()
        compute(inputs)
        found.append([time.perf_counter() - start, time.process_time() - busy])
    return found


def answer(**said: object) -> None:
    print("=", json.dumps(said), flush=True)


def main() -> None:
    kind, artefact, stored, threads = sys.argv[1:]
    inputs = list(np.load(stored).values())
    before = resident("VmHWM")
    start = time.perf_counter()
    module = importlib.import_module(kind)
    imported = time.perf_counter()
    compute = module.load(Path(artefact), int(threads))
    loaded = time.perf_counter()
    outputs = compute(inputs)
    first = time.perf_counter()
    timed(compute, inputs, WARM_SECONDS, WARM)
    answer(
        import_seconds=imported - start, load_seconds=loaded - imported, first_seconds=first - loaded,
        resident_bytes=resident("VmHWM") - before,
    )  # fmt: skip
    for line in sys.stdin:
        word, _, argument = line.strip().partition(" ")
        if word == "run":
            answer(seconds=timed(compute, inputs, float(argument)))
        elif word == "outputs":
            np.savez(argument, *outputs)
            answer(outputs=len(outputs))


if __name__ == "__main__":
    main()
