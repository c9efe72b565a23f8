"""Products on the GPU at hand, tile by tile: what each choice of tiles takes, and what the model of costs predicts.

    python benchmarks/gpu_kernels.py [--rows 197] [--columns 768] [--inner 3072]

Without sizes, layers of well-known networks, one image at a time. The numbers in targets/gpu/tile_costs.py are fitted
to such figures: another GPU may want others."""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Iterator
from unittest import mock

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import tilewright as tw
from tilewright.codegen.network import symbol_prefix
from tilewright.errors import CompileError
from tilewright.targets.gpu.tiles import Choice, Product, choices, chosen, predicted

LAYERS = {
    "ResNet-50 56x56 64 -> 256": (3136, 256, 64), "ResNet-50 28x28 512 -> 128": (784, 128, 512),
    "ResNet-50 14x14 1024 -> 256": (196, 256, 1024), "ResNet-50 7x7 512 -> 2048": (49, 2048, 512),
    "MobileNetV2 14x14 96 -> 576": (196, 576, 96), "MobileNetV2 7x7 960 -> 320": (49, 320, 960),
    "ViT-B/16 768 -> 2304": (197, 2304, 768), "ViT-B/16 3072 -> 768": (197, 768, 3072),
    "BERT-base 768 -> 3072": (128, 3072, 768),
}  # fmt: skip
"""Rows, columns, inner."""
CALLS, REPEATS = 3, 100
"""Before a graph is there to be measured, and how often it is launched then."""


def model(product: Product) -> ModelProto:
    weights = np.random.default_rng(0).standard_normal((product.inner, product.columns)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [product.rows, product.inner])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [product.rows, product.columns])
    return helper.make_model(helper.make_graph([node], "product", [x], [y], [numpy_helper.from_array(weights, "w")]))


def microseconds(product: Product, choice: Choice) -> float:
    with mock.patch("tilewright.targets.gpu.fast.chosen", return_value=choice):
        program = tw.compile(model(product), target="gpu")
    network = program.load()
    x = np.random.default_rng(1).standard_normal((product.rows, product.inner)).astype(np.float32)
    for _ in range(CALLS):
        network(x)
    measure = getattr(ctypes.CDLL(str(network.library)), f"{symbol_prefix(program.graph.name)}_gpu_microseconds", None)
    if measure is None:
        raise CompileError("gpu_kernels", "there is no GPU to measure", "run it on a machine with a driver of one")
    measure.restype = ctypes.c_double
    return float(measure(REPEATS))


def asked(arguments: argparse.Namespace) -> Iterator[tuple[str, Product]]:
    sizes = (arguments.rows, arguments.columns, arguments.inner)
    if all(sizes):
        yield "asked for", Product(*sizes, size=4)
        return
    for name, (rows, columns, inner) in LAYERS.items():
        yield name, Product(rows, columns, inner, size=4)


def label(choice: Choice) -> str:
    return f"{choice.tile.rows}x{choice.tile.columns} / {choice.splits}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--rows", "--columns", "--inner"):
        parser.add_argument(name, type=int, default=0)
    print(f"{'float32, us':30} {'chosen':>12} {'predicted':>9} {'measured':>8}  {'best':>12} {'measured':>8}")
    for name, product in asked(parser.parse_args()):
        own = chosen(product)
        taken = {choice: microseconds(product, choice) for choice in choices(product) if choice.splits in (1, 2, 4, 8)}
        taken[own] = taken.get(own) or microseconds(product, own)
        best = min(taken, key=lambda choice: taken[choice])
        print(
            f"{name:30} {label(own):>12} {predicted(product, own):9.1f} {taken[own]:8.1f}  {label(best):>12} "
            f"{taken[best]:8.1f}", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except CompileError as error:
        raise SystemExit(str(error)) from None
