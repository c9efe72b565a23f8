"""Models of torchvision, timm and transformers that nobody here made: accepted, right, and as fast as PyTorch?

    python benchmarks/foreign_models.py [--only WORD] [--target cpu] [--jobs N] [--seconds 150] [--json FILE]

Needs `pip install 'tilewright[torch]' torchvision timm transformers`; what is not installed is left out. Each model is
compiled in a process of its own, called as a library with one thread and held against PyTorch's own outputs (1e-3 of
the largest value: deep networks in floats), its time against PyTorch's eager mode with one thread. A model that PyTorch
itself cannot build or run is not counted. Exits with 1 where a model is wrong or crashes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

TOLERANCE = 1e-3
REPEATS, MOST_REPEATS, LEAST_SECONDS = 5, 50, 0.6
NOT_BUILT = "not built"
SEED = 0
"""Of models that draw random numbers when they are called."""


def measure(name: str, target: str) -> dict[str, Any]:
    """One model in this process: its verdict, error, MMAC and time as a ratio of eager PyTorch's."""
    import torch
    from benchmarks.foreign_list import case, tensors_of

    import tilewright as tw
    from tilewright.ir.arrays import as_numpy

    torch.set_num_threads(1)
    try:
        model, inputs = case(name)
        torch.manual_seed(SEED)
        with torch.no_grad():
            wanted = [as_numpy(one) for one in tensors_of(model(*inputs))]
    except Exception as error:
        return {"verdict": NOT_BUILT, "why": _line(error)}
    start = time.process_time()
    try:
        program = compiled(model, inputs, target)
        loaded = program.load()
    except tw.CompileError as refusal:
        return {"verdict": "refused", "why": _line(refusal)}
    took = time.process_time() - start
    arrays = [as_numpy(one) for one in inputs]
    found = _listed(loaded(*arrays))
    error = max(map(_distance, found, wanted)) if len(found) == len(wanted) else float("inf")
    with torch.no_grad():
        eager, ours = _fastest(lambda: model(*inputs), lambda: loaded(*arrays))
    return {
        "verdict": "agrees" if error <= TOLERANCE else "WRONG", "error": error, "mmac": program.analysis.macs / 1e6,
        "ratio": ours / eager, "compile_s": took, "layers": len(program.analysis.layers),
    }  # fmt: skip


def compiled(model: Any, inputs: tuple[Any, ...], target: str) -> Any:
    """With a seed only where there must be one."""
    import tilewright as tw

    try:
        return tw.compile(model, inputs, target=target)
    except tw.CompileError as refusal:
        if "draws random numbers" not in str(refusal):
            raise
        return tw.compile(model, inputs, target=target, random_seed=SEED)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def _listed(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return list(found.values())
    return list(found) if isinstance(found, list | tuple) else [found]


def _distance(found: Any, wanted: Any) -> float:
    import numpy as np

    if found.shape != wanted.shape:
        return float("inf")
    scale = max(float(np.abs(wanted).max(initial=0)), 1e-12)
    return float(np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max(initial=0)) / scale


def _fastest(*calls: Callable[[], Any]) -> list[float]:
    """Seconds of the quickest of some calls of each, in turn: what else the machine does meets all of them."""
    best = [float("inf")] * len(calls)
    end = time.perf_counter() + LEAST_SECONDS
    for count in range(MOST_REPEATS):
        if count >= REPEATS and time.perf_counter() > end:
            break
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def in_process(name: str, target: str, seconds: float, until: float) -> dict[str, Any]:
    """The verdict of a process of its own: one that crashes or hangs is a row like any other."""
    if time.time() > until:
        return {"verdict": "not run"}
    one = [sys.executable, __file__, "--one", name, "--target", target]
    try:
        ran = subprocess.run(
            one, capture_output=True, text=True, timeout=seconds, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
    except subprocess.TimeoutExpired:
        return {"verdict": "too slow", "why": f"more than {seconds:.0f} s"}
    lines = [line for line in ran.stdout.splitlines() if line.startswith('{"verdict"')]
    if lines:
        return dict(json.loads(lines[-1]))
    return {"verdict": "CRASHED", "why": f"exit {ran.returncode}: " + "".join(ran.stderr.splitlines()[-1:])[:300]}


def print_row(name: str, row: dict[str, Any]) -> None:
    figures = ""
    if "error" in row:
        figures = f"{row['error']:.1e} | {row['mmac']:.0f} | {row['ratio']:.2f} | {row['compile_s']:.0f}"
    print(f"| {name} | {row['verdict']} | {figures or row.get('why', '')} |", flush=True)


def print_summary(rows: dict[str, dict[str, Any]]) -> None:
    counts: dict[str, int] = {}
    for row in rows.values():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    ratios = sorted((row["ratio"], name) for name, row in rows.items() if row.get("mmac", 0) > 50)
    if ratios:
        print(f"above 50 MMAC, our time as a part of eager PyTorch's: median {ratios[len(ratios) // 2][0]:.2f}, worst"
              + ", ".join(f" {ratio:.2f} ({name})" for ratio, name in reversed(ratios[-5:])))  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="models with one of these words in their name, with commas between")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=150, help="of each model")
    parser.add_argument(
        "--until", type=float, default=float("inf"), help="seconds after which no further model is begun"
    )
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.target)))
        return 0
    from benchmarks.foreign_list import cases

    names = [name for name in cases() if any(word in name for word in options.only.split(","))]
    until = time.time() + options.until
    rows: dict[str, dict[str, Any]] = {}
    print("| model | verdict | error / scale | MMAC | time / eager | compile CPU s |\n|---|---|---|---|---|---|")
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, row in zip(
            names, pool.map(lambda name: in_process(name, options.target, options.seconds, until), names), strict=True
        ):
            rows[name] = row
            print_row(name, row)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    print_summary(rows)
    return int(any(row["verdict"] in ("WRONG", "CRASHED") for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
