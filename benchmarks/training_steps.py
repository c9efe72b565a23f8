"""Cycles of training steps on the virtual Siracusa: forward, backward and, where there is room, accumulation.

    python benchmarks/training_steps.py [NAME ...]

A step is the train network of one sample, or of the autoencoder's batch, inputs and outputs in L2. `without buffers`:
weights are constants in L3 and gradients are results, as the weights and their accumulation buffers together are larger
than L2. The DS-CNN and the autoencoder have random weights, and gradients of our own; the autoencoder's weights are
updated `in place`, by SGD. Two floating-point operations are counted for each product of a convolution or matrix
product, at 360 MHz.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import ROOT

import tilewright as tw
from tilewright import pipeline
from tilewright.frontends.parameters import load
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.pipeline import Compiled
from tilewright.program import Program
from tilewright.training.making import Recipe, make_training
from tilewright.training.recipes import loss_of

MODELS = ROOT / "training" / "Models"
HERTZ = 360e6


def operands(folder: Path, proto: onnx.ModelProto) -> dict[str, Array]:
    """What the network is fed with in its first step: data, labels and weights as stored, buffers of zeros."""
    given = np.load(folder / "inputs.npz")
    stored = iter(given[name] for name in sorted(given) if name.startswith("arr_"))
    found = {}
    for value in proto.graph.input:
        shape = [size.dim_value for size in value.type.tensor_type.shape.dim]
        is_buffer = value.name.endswith(".accumulation.buffer")
        found[value.name] = np.zeros(shape, np.float32) if is_buffer else next(stored)
    return found


def without_buffers(proto: onnx.ModelProto, feeds: dict[str, Array]) -> None:
    """Weights become constants, gradients results."""
    graph = proto.graph
    gradients = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "InPlaceAccumulatorV2"}
    kept = [node for node in graph.node if node.op_type != "InPlaceAccumulatorV2"]
    data = [value for value in graph.input if value.name in ("input", "labels")]
    constants = [value.name for value in graph.input if value.name not in ("input", "labels")]
    loss = graph.output[0].name
    del graph.node[:], graph.input[:], graph.output[:]
    graph.node.extend(kept)
    graph.input.extend(data)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in (loss, *gradients.values()))
    for name in constants:
        value = feeds.pop(name)
        if not name.endswith(".accumulation.buffer") and name != "lazy_reset_grad":
            graph.initializer.append(numpy_helper.from_array(value, name))


def of_peer(path: str, has_buffers: bool = True) -> tuple[Program, dict[str, Array]]:
    """A step that another tool has made, and what it is fed with."""
    proto = onnx.load(MODELS / path / "network.onnx")
    feeds = operands(MODELS / path, proto)
    if not has_buffers:
        without_buffers(proto, feeds)
    return tw.compile(proto, target="siracusa"), feeds


def ds_cnn_model() -> onnx.ModelProto:
    """Keywords in 49 x 10 features: a convolution, four separable ones of 64 channels, a mean, 12 classes."""
    random = np.random.default_rng(1)
    weights: dict[str, Array] = {}
    nodes: list[onnx.NodeProto] = []

    def layer(kind: str, shape: tuple[int, ...], **attributes: object) -> None:
        name = f"layer{len(weights) // 2}"
        scale = np.sqrt(2 / np.prod(shape[1:]))
        weights[f"{name}.weight"] = (random.normal(size=shape) * scale).astype(np.float32)
        weights[f"{name}.bias"] = np.zeros(shape[0], np.float32)
        before = nodes[-1].output[0] if nodes else "x"
        inputs = [before, f"{name}.weight", f"{name}.bias"]
        nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))

    def convolution(shape: tuple[int, ...], **attributes: object) -> None:
        layer("Conv", shape, **attributes)
        nodes.append(helper.make_node("Relu", [nodes[-1].output[0]], [f"relu{len(nodes)}"]))

    convolution((64, 1, 10, 4), strides=[2, 2], pads=[4, 1, 5, 1])
    for _ in range(4):
        convolution((64, 1, 3, 3), group=64, pads=[1, 1, 1, 1])
        convolution((64, 64, 1, 1))
    nodes.append(helper.make_node("GlobalAveragePool", [nodes[-1].output[0]], ["mean"]))
    nodes.append(helper.make_node("Flatten", ["mean"], ["flat"]))
    layer("Gemm", (12, 64), transB=1)
    graph = helper.make_graph(
        nodes, "ds_cnn", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 49, 10])],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def autoencoder_model(batch: int) -> onnx.ModelProto:
    """The sizes of MLPerf Tiny's, without batch normalisation."""
    random = np.random.default_rng(1)
    sizes = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640]
    weights: dict[str, Array] = {}
    nodes: list[onnx.NodeProto] = []
    for number, (before, after) in enumerate(pairwise(sizes)):
        if nodes:
            nodes.append(helper.make_node("Relu", [nodes[-1].output[0]], [f"relu{number}"]))
        name = f"layer{number}"
        weights[f"{name}.weight"] = (random.normal(size=(after, before)) * np.sqrt(2 / before)).astype(np.float32)
        weights[f"{name}.bias"] = np.zeros(after, np.float32)
        inputs = [nodes[-1].output[0] if nodes else "x", f"{name}.weight", f"{name}.bias"]
        nodes.append(helper.make_node("Gemm", inputs, [name], name=name, transB=1))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, 640]) for name in ("x", nodes[-1].output[0]))
    stored = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "autoencoder", [x], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def our_own(model: onnx.ModelProto, recipe: Recipe) -> tuple[Program, dict[str, Array]]:
    """A step with gradients of our own, and noise for it, of class 3."""
    found = load(model)
    train: Graph = make_training(found.graph, recipe, found.learning).train
    random, feeds = np.random.default_rng(2), dict[str, Array]()
    for name in train.inputs:
        kind = train.types[name]
        is_label = kind.dtype == "int32"
        feeds[name] = (
            np.full(kind.shape, 3, np.int32) if is_label else random.normal(size=kind.shape).astype(np.float32)
        )
    return Program(Compiled(*pipeline.stages(train, "siracusa", "step")), "step", None, 0.0), feeds


def autoencoder() -> tuple[Program, dict[str, Array]]:
    return our_own(autoencoder_model(64), Recipe(loss=loss_of("mse"), in_place=True))


STEPS: dict[str, Callable[[], tuple[Program, dict[str, Array]]]] = {
    "SimpleMLP": lambda: of_peer("SimpleMLP/simplemlp_train"),
    "ResNet8": lambda: of_peer("ResNet8/resnet8_train"),
    "CCT, convolutions frozen, without buffers": lambda: of_peer("CCT/cct_train", has_buffers=False),
    "DS-CNN": lambda: our_own(ds_cnn_model(), Recipe()),
    "autoencoder, 64 samples, in place": autoencoder,
}


def main(names: Sequence[str]) -> None:
    table = Table("step", "M products", "cycles", "operations/cycle", "ms at 360 MHz")
    for name, make in STEPS.items():
        if names and name.split(",")[0] not in names:
            continue
        program, feeds = make()
        cycles, macs = program.run(feeds).cycles or 0, program.analysis.macs
        table.add_row(
            name, f"{macs / 1e6:.2f}", f"{cycles:,}", f"{2 * macs / cycles:.2f}", f"{1e3 * cycles / HERTZ:.2f}"
        )  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
