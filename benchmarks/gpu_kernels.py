"""Products on the GPU at hand, tile by tile: what each choice of tiles takes, and what the model of costs predicts.

    python benchmarks/gpu_kernels.py [--sizes 4 2 1] [--rows 197 --columns 768 --inner 3072] [--keep]

Without rows, layers of well-known networks, one image at a time; sizes are the bytes of an element. With --keep the
numbers of the model are fitted to what was measured, and kept for this machine: networks that are compiled on it use
them from then on."""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Iterator
from unittest import mock

import numpy as np

from tilewright import pipeline
from tilewright.codegen.network import symbol_prefix
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.matmul import MatMul
from tilewright.program import Program
from tilewright.run.gpu_chip import chip
from tilewright.target.settings import Settings
from tilewright.targets.gpu.tile_costs import CLOCK, H200, kept_file, scaled, write
from tilewright.targets.gpu.tile_fit import Measured, fitted
from tilewright.targets.gpu.tiles import Choice, Product, choices, chosen, predicted

LAYERS = {
    "ResNet-50 56x56 64 -> 256": (3136, 256, 64), "ResNet-50 28x28 512 -> 128": (784, 128, 512),
    "ResNet-50 14x14 1024 -> 256": (196, 256, 1024), "ResNet-50 7x7 512 -> 2048": (49, 2048, 512),
    "ResNet-18 28x28 128 -> 128": (784, 128, 1152), "ResNet-18 7x7 512 -> 512": (49, 512, 4608),
    "MobileNetV2 14x14 96 -> 576": (196, 576, 96), "MobileNetV2 7x7 960 -> 320": (49, 320, 960),
    "ViT-B/16 768 -> 2304": (197, 2304, 768), "ViT-B/16 3072 -> 768": (197, 768, 3072),
    "BERT-base 768 -> 3072": (128, 3072, 768),
}  # fmt: skip
"""Rows, columns, inner."""
PRECISIONS, DTYPES = {1: "fp32", 2: "fp16", 4: "fp32"}, {1: "int8", 2: "float32", 4: "float32"}
"""By the bytes of an element: 16 bits are a precision of floats."""
CALLS, REPEATS = 3, 100
"""Before a graph is there to be measured, and how often it is launched then."""


def network(product: Product) -> Graph:
    dtype = DTYPES[product.size]
    weights = np.random.default_rng(0).integers(-9, 10, (product.columns, product.inner)).astype(dtype)
    builder = Builder("product")
    x = builder.input("x", TensorType(dtype, (product.rows, product.inner)))
    (y,) = builder.add(MatMul(trans_b=True), [x, builder.constant(weights, "w")])
    builder.output(y)
    return builder.build()


def microseconds(product: Product, choice: Choice) -> float:
    settings = Settings(precision=PRECISIONS[product.size])
    with mock.patch("tilewright.targets.gpu.fast.chosen", return_value=choice):
        compiled = pipeline.Compiled(*pipeline.stages(network(product), "gpu", settings=settings))
    program = Program(compiled, "", None, 0.0, settings=settings)
    loaded = program.load()
    x = np.random.default_rng(1).integers(-9, 10, (product.rows, product.inner)).astype(DTYPES[product.size])
    for _ in range(CALLS):
        loaded(x)
    measure = getattr(ctypes.CDLL(str(loaded.library)), f"{symbol_prefix(program.graph.name)}_gpu_microseconds")
    measure.restype = ctypes.c_double
    return float(measure(REPEATS))


def asked(arguments: argparse.Namespace) -> Iterator[tuple[str, Product]]:
    own = (arguments.rows, arguments.columns, arguments.inner)
    for size in arguments.sizes:
        for name, sizes in ({"asked for": own} if all(own) else LAYERS).items():
            yield name, Product(*sizes, size=size)


def label(choice: Choice) -> str:
    return f"{choice.tile.name} / {choice.splits}"


def table(arguments: argparse.Namespace) -> list[Measured]:
    """Prints what products take; all that was measured."""
    measured: list[Measured] = []
    print(f"{'us':34} {'chosen':>12} {'predicted':>9} {'measured':>8}  {'best':>12} {'measured':>8}")
    for name, product in asked(arguments):
        own = chosen(product)
        taken = {choice: microseconds(product, choice) for choice in choices(product)}
        best = min(taken, key=lambda choice: taken[choice])
        print(
            f"{name:30} {8 * product.size:2}b {label(own):>12} {predicted(product, own):9.1f} {taken[own]:8.1f}  "
            f"{label(best):>12} {taken[best]:8.1f}", flush=True,
        )  # fmt: skip
        measured += [(product, choice, time) for choice, time in taken.items()]
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--rows", "--columns", "--inner"):
        parser.add_argument(name, type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="+", choices=(1, 2, 4), default=[4, 2, 1])
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    found = chip()
    if found is None:
        raise CompileError("gpu_kernels", "there is no GPU to measure", "run it on a machine with a driver of one")
    measured = table(arguments)
    if arguments.keep:
        start = scaled(H200, found.name, found.multiprocessors, found.cycles_per_ns / CLOCK)
        kept_file().parent.mkdir(parents=True, exist_ok=True)
        kept_file().write_text(write(fitted(measured, start)), encoding="utf-8")
        print(f"kept for {found.name} in {kept_file()}")


if __name__ == "__main__":
    try:
        main()
    except CompileError as error:
        raise SystemExit(str(error)) from None
