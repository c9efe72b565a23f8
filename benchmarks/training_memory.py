"""RAM of training a whole MobileNetV1-0.25 in place on a Cortex-M7: all that is kept; the least where
activations are computed again; and the least where the first layers are computed in strips of rows, too.

    python benchmarks/training_memory.py [SIZE ...]

Floats, no batch normalisation, ten classes, SGD, one sample of SIZE x SIZE pixels a step. Bytes include the sample.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

from tilewright import targets
from tilewright.frontends.parameters import load
from tilewright.ir.types import Array
from tilewright.target.settings import DEFAULT
from tilewright.training.compiling import Learner, compile_training
from tilewright.training.descend import descending
from tilewright.training.front_search import sketches
from tilewright.training.graphs import Training
from tilewright.training.making import Recipe, make_training
from tilewright.training.plan import plan_of, ram_of
from tilewright.training.recompute import Choice, Recomputing

TARGET = "cortex-m7"
WIDTHS = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]
CLASSES = 10


def model(size: int) -> onnx.ModelProto:
    random = np.random.default_rng(0)
    weights: dict[str, Array] = {}
    nodes: list[onnx.NodeProto] = []

    def layer(kind: str, name: str, shape: tuple[int, ...], **attributes: object) -> None:
        weights[f"{name}.weight"] = (random.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)
        weights[f"{name}.bias"] = np.zeros(shape[0], np.float32)
        inputs = [nodes[-1].output[0] if nodes else "x", f"{name}.weight", f"{name}.bias"]
        nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))

    def convolution(name: str, shape: tuple[int, ...], stride: int = 1, groups: int = 1) -> None:
        layer("Conv", name, shape, strides=[stride] * 2, pads=[shape[-1] // 2] * 4, group=groups)
        nodes.append(helper.make_node("Relu", [name], [f"{name}_relu"], name=f"{name}_relu"))

    convolution("first", (8, 3, 3, 3), 2)
    channels = 8
    for number, (filters, stride) in enumerate(WIDTHS):
        convolution(f"depthwise{number}", (channels, 1, 3, 3), stride, channels)
        convolution(f"pointwise{number}", (filters, channels, 1, 1))
        channels = filters
    nodes.append(helper.make_node("GlobalAveragePool", [nodes[-1].output[0]], ["mean"]))
    nodes.append(helper.make_node("Flatten", ["mean"], ["flat"]))
    layer("Gemm", "head", (CLASSES, channels), transB=1)
    graph = helper.make_graph(
        nodes, "mobilenet", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info("head", TensorProto.FLOAT, [1, CLASSES])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def row(size: int) -> list[str]:
    found = load(model(size))
    training: Training = make_training(found.graph, Recipe(in_place=True), found.learning)
    training = descending(training, targets.find(TARGET))
    compile_ = partial(compile_training, target=TARGET, settings=replace(DEFAULT, memories=(("ram", 8_000_000),)))
    whole, known = compile_(training), Recomputing(training.train)
    kept = min((planned(compile_, training, known, choice) for choice in known.choices()[-3:]), key=lambda one: one.ram)
    small = partial(compile_, in_little_ram=("infer",))
    found = [planned(small, training, sketch.known, sketch.choices[-1]) for sketch in sketches(known, 0)]
    strips = min(found, key=lambda one: one.ram)
    weights = plan_of(whole, 0).networks["train"].weights
    numbers = [ram_of(whole), kept.ram, strips.ram, strips.ram - weights]
    works = [one.work / known.work - 1 for one in (kept, strips)]
    return [
        f"{size} x {size}",
        f"{weights:,}",
        *(f"{number:,}" for number in numbers),
        *(f"{one:.0%}" for one in works),
    ]


@dataclass(frozen=True)
class Planned:
    ram: int
    work: int


def planned(compile_: Callable[[Training], Learner], training: Training, known: Recomputing, choice: Choice) -> Planned:
    graph = known.rewritten(choice.again, choice.forgets)
    return Planned(ram_of(compile_(training.with_graphs(train=graph))), known.work + choice.work)


def main(sizes: Sequence[str]) -> None:
    numbers = "all kept", "computed again", "in strips", "of this beyond weights"
    table = Table("pixels", "weights", *numbers, "more work again", "more work in strips")
    for size in sizes or ("96", "64", "48"):
        table.add_row(*row(int(size)))
    Console(width=120).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
