"""Cycles of training steps on the virtual Siracusa: forward, backward and, where there is room, accumulation.

    python benchmarks/training_steps.py [NAME ...]

A step is the train network of one sample, inputs and outputs in L2. `without buffers`: weights are constants in L3 and
gradients are results, as the weights and their accumulation buffers together are larger than L2. Two floating-point
operations are counted for each product of a convolution or matrix product, at 360 MHz.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import ROOT

import tilewright as tw
from tilewright.ir.types import Array

MODELS = ROOT / "training" / "Models"
HERTZ = 360e6


@dataclass(frozen=True)
class Step:
    name: str
    path: str
    has_buffers: bool = True


STEPS = (
    Step("SimpleMLP", "SimpleMLP/simplemlp_train"),
    Step("ResNet8", "ResNet8/resnet8_train"),
    Step("CCT, convolutions frozen, without buffers", "CCT/cct_train", has_buffers=False),
)


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


def measured(step: Step) -> tuple[int, int]:
    """Cycles and products."""
    folder = MODELS / step.path
    proto = onnx.load(folder / "network.onnx")
    feeds = operands(folder, proto)
    if not step.has_buffers:
        without_buffers(proto, feeds)
    program = tw.compile(proto, target="siracusa")
    result = program.run(feeds)
    return result.cycles or 0, program.analysis.macs


def main(names: Sequence[str]) -> None:
    table = Table("step", "M products", "cycles", "operations/cycle", "ms at 360 MHz")
    for step in STEPS:
        if names and step.name.split(",")[0] not in names:
            continue
        cycles, macs = measured(step)
        table.add_row(
            step.name, f"{macs / 1e6:.2f}", f"{cycles:,}", f"{2 * macs / cycles:.2f}",
            f"{1e3 * cycles / HERTZ:.2f}",
        )  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
