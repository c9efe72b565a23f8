"""TensorFlow Lite files on this computer, ours beside LiteRT: python benchmarks/tflite_beside_litert.py [FILE ...]

Without files: those of MLPerf Tiny, below $TILEWRIGHT_NETWORKS. One thread; both take turns, and what is compared is
the middle of the processor's times (tests compare results). Inputs are those of the .npz beside a file,
or random ones of its types.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.host_environments import Environment, Failed
from benchmarks.host_peers_list import LITERT, library_of
from benchmarks.host_process import Process

from tilewright.program import compile_model
from tilewright.toolchain.compiler import cache_folder

ROUNDS, LIMIT = 20, 300.0


def main() -> None:
    asked = arguments()
    litert = Environment((asked.cache or cache_folder() / "host_peers") / "environments", LITERT).ready()
    table = Table(title="one thread, microseconds of the processor")
    for column in ("file", "Tilewright", "LiteRT", "ratio"):
        table.add_column(column, justify="left" if column == "file" else "right")
    for path in asked.files:
        try:
            ours, theirs = compared(path, litert.python, asked.seconds)
        except Failed as error:
            table.add_row(path.name, str(error))
            continue
        table.add_row(path.name, f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}")
    Console().print(table)


def arguments() -> argparse.Namespace:
    stored = Path(os.environ.get("TILEWRIGHT_NETWORKS", Path(__file__).parents[2] / "shared" / "networks"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", type=Path, nargs="*", default=sorted((stored / "mlperf_tiny").glob("*.tflite")))
    parser.add_argument("--seconds", type=float, default=3.0, help="of each contestant with each file")
    parser.add_argument("--cache", type=Path, help="where LiteRT is kept")
    return parser.parse_args()


def compared(path: Path, litert: Path, seconds: float) -> tuple[float, float]:
    """Microseconds of ours and of LiteRT."""
    with TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        np.savez(inputs, *inputs_of(path))
        library = library_of(path, 1, Path(folder) / "library")
        both = [
            Process(Path(sys.executable), "with_tilewright", library, inputs, 1, LIMIT),
            Process(litert, "with_litert", path, inputs, 1, LIMIT),
        ]
        times: list[list[list[float]]] = [[], []]
        for _ in range(ROUNDS):
            for process, found in zip(both, times, strict=True):
                found += process.run(seconds / ROUNDS)
        for process in both:
            process.end()
    ours, theirs = (float(np.median([busy for _, busy in found])) * 1e6 for found in times)
    return ours, theirs


def inputs_of(path: Path) -> list[np.ndarray]:
    beside = path.with_suffix(".npz")
    if beside.is_file():
        stored = np.load(beside)
        return [stored["in_0"]]
    return list(compile_model(path).random_inputs().values())


if __name__ == "__main__":
    main()
