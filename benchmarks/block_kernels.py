"""Kernels of weights in blocks on this machine: bytes of weights a second with one row of activations (decoding),
beside what the same threads only read, and multiplications a second with many rows (prompts).

    python benchmarks/block_kernels.py [--formats Q4_0,Q8_0] [--threads 1,2] [--cpu x86-64-v3] [--inner 2048]
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.ir.types import TensorType
from tilewright.target.processors import NATIVE, processor_flags, vectors_of
from tilewright.targets.cpu.block_forms import PanelBlockProduct
from tilewright.targets.cpu.block_packing import FLOATS, LAYOUTS, Panels
from tilewright.targets.cpu.block_products import panels_of
from tilewright.targets.cpu.target import for_processor
from tilewright.toolchain.compiler import STRICT, find_compiler

COLUMNS, NEAR_COLUMNS = 65536, 4096
"""Rows of weights that no cache holds, and those that prompts are multiplied with."""
ROWS = (2, 4, 16, 64, 512)
TRIES = 3
FIELDS = ("rows", "inner", "columns", "panel_bytes", "part", "parts")


class Params(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in FIELDS]


@dataclass(frozen=True)
class Bench:
    """One format's kernel, in a library."""

    library: ctypes.CDLL
    panels: Panels
    inner: int
    weights: np.ndarray
    cpu: str

    @staticmethod
    def of(name: str, inner: int, cpu: str, folder: Path) -> Bench:
        panels = panels_of(vectors_of(cpu), name)
        if panels is None:
            sys.exit(f"{cpu} has no kernel for {name}")
        library = ctypes.CDLL(str(built(name, cpu, folder)))
        library.seconds.restype = ctypes.c_double
        size = COLUMNS // panels.rows * panels.panel_bytes(inner)
        return Bench(library, panels, inner, np.full(size, 0x2C, np.uint8), cpu)

    def seconds(self, rows: int, columns: int, threads: int, reads: bool = False) -> float:
        """Of a call, the fastest of a few."""
        op = PanelBlockProduct(columns, self.panels)
        shape = (columns // self.panels.rows, self.panels.panel_bytes(self.inner))
        types = {"X": TensorType("float32", (rows, self.inner)), "W": TensorType("uint8", shape)}
        params = op.params(types)
        kernel = next(one for one in for_processor(self.cpu).engines[0].kernels_of(op) if one.takes(op, types))
        own = kernel.scratch_bytes(op, types) + 64
        x = np.random.default_rng(0).standard_normal((rows, self.inner)).astype(np.float32)
        y, scratch = np.zeros((rows, columns), np.float32), np.zeros(threads * own, np.uint8)
        words = shape[0] * shape[1] // 8 if reads else 0
        given = Params(*(params[name] for name in FIELDS))
        arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, self.weights, y, scratch)]
        numbers = (ctypes.c_int64(own), ctypes.c_int64(words), threads, 2)
        return min(self.library.seconds(ctypes.byref(given), *arrays, *numbers) for _ in range(TRIES))


def built(name: str, cpu: str, folder: Path) -> Path:
    compiler, target = find_compiler(), for_processor(cpu)
    includes = [f"-I{one / 'kernels'}" for one in target.folders]
    flags = [*STRICT, *target.flags, *processor_flags(cpu, compiler.is_zig), "-fPIC", *includes]
    kernel, made = f"block_{name.lower()}", folder / f"{name}.so"
    compiler.run(
        [*flags, "-DTW_NAME=tw_kernel", "-c", str(target.kernel_file(f"{kernel}.c")), "-o", "kernel.o"], folder
    )
    bench = str(Path(__file__).with_suffix(".c"))
    compiler.run([*flags, "-shared", bench, "kernel.o", "-o", str(made), "-lpthread"], folder)
    return made


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--formats", default=",".join((*LAYOUTS, *FLOATS)))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--cpu", default=NATIVE)
    parser.add_argument("--inner", type=int, default=2048)
    asked = parser.parse_args(given)
    for name in asked.formats.split(","):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench.of(name, asked.inner, asked.cpu, Path(folder))
            print(f"{name:5}", end="")
            for threads in map(int, asked.threads.split(",")):
                read, decode = (
                    bench.weights.nbytes / bench.seconds(1, COLUMNS, threads, one) / 1e9 for one in (True, False)
                )
                print(f"  {threads} threads {decode:5.1f} GB/s of {read:5.1f}", end="")
            for rows in ROWS:
                speed = rows * NEAR_COLUMNS * asked.inner / bench.seconds(rows, NEAR_COLUMNS, 1) / 1e9
                print(f"  {rows} rows {speed:4.0f}", end="")
            print(" GMAC/s", flush=True)


if __name__ == "__main__":
    main()
