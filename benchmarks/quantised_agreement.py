"""Every quantised tensor of networks with QuantizeLinear and DequantizeLinear: our C against ONNX Runtime.

    python benchmarks/quantised_agreement.py [--samples N] [--weights BITS] [--activations TYPE] [MODEL ...]

A network that comes in floats (ONNX, or TensorFlow Lite) is first quantised by us, with the samples that lie beside it,
and written as ONNX. Without models it is the quantised and the float networks of the folder of networks. Comparisons:

* the whole network in C (target generic) with ONNX Runtime, whose optimisations are off: it computes in floats between
  quantisers;
* each layer alone, fed with ONNX Runtime's own tensors, which is what is promised: at most 1 step apart, and 99 % equal
  (or all but one element of small tensors);
* the same with ONNX Runtime's optimisations on: its kernels of integers;
* ONNX Runtime on and off with itself, and the float graph computed with numpy in another order of summation: what float
  arithmetic itself leaves open.

The C is also held to numpy: integers to the bit. The exit code is 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.e2e.test_qdq import MODELS, quantised_names
from tests.support.agreement import Tally, layer_by_layer, sample, samples_of
from tests.support.networks import models, named_or
from tests.support.quantiser import run_integer_kernels, run_onnxruntime

from tilewright import pipeline
from tilewright.export import model_of
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.passes import apply
from tilewright.program import Program
from tilewright.quantiser.quantise import Options, quantise
from tilewright.quantiser.widths import Width, Widths

FLOAT = [
    *models("qdq/*/fp32.onnx"),
    *models("mlperf_tiny/*fp32.tflite"),
    *models("mlperf_tiny/*float*.tflite"),
    *models("mlperf_tiny/pretrainedResnet.tflite"),
]
FLOATS = 1e-4
"""How far floats in C may be from numpy's, relative to their scale; integers are equal."""
COMPARISONS = (
    "whole network in C", "each layer alone", "each layer alone, its kernels of integers",
    "its kernels of integers with its floats", "float graph in numpy",
)  # fmt: skip


@dataclass(frozen=True)
class Network:
    name: str
    model: ModelProto
    feeds: Sequence[dict[str, Array]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--samples", type=int, default=2, help="compared of each network")
    parser.add_argument("--weights", type=int, default=8, help="bits of weights that we quantise")
    parser.add_argument("--activations", default="int8", help="type of activations that we quantise: int8 or int16")
    given = parser.parse_args()
    width = Width(given.weights, given.activations)
    table, broken = _table(), list[str]()
    for path in named_or(given.models, [*MODELS, *FLOAT]):
        network = network_of(path, given.samples, width)
        tallies, found = compare(network)
        broken += found
        for what in COMPARISONS:
            table.add_row(network.name if what == COMPARISONS[0] else "", what, *tallies[what].cells())
        table.add_section()
    Console(width=120).print(table)
    print("\n".join(broken))
    sys.exit(bool(broken))


def _table() -> Table:
    table = Table(title="quantised tensors against ONNX Runtime: largest difference in steps, equal elements")
    for column in ("network", "what"):
        table.add_column(column)
    for column in ("tensors", "steps", "worst tensor", "overall"):
        table.add_column(column, justify="right")
    return table


# ---- networks -------------------------------------------------------------------------------------------------------


def network_of(path: Path, count: int, width: Width) -> Network:
    """A quantised network as it is; a float one as our quantiser makes it."""
    graph = pipeline.import_model(path)
    samples = samples_of(path, graph)
    name = path.parent.name if path.suffix == ".onnx" else path.stem
    quantised = any(node.op.kind == "QuantizeLinear" for node in graph.nodes)
    if not quantised:
        name, graph = f"{name} (by us, {width})", quantise(graph, samples, Options(Widths(width))).graph
    feeds = [sample(samples, number) for number in range(count)]
    return Network(name, model_of(graph, short_weights=True), feeds)


# ---- comparisons ----------------------------------------------------------------------------------------------------


def compare(network: Network) -> tuple[dict[str, Tally], list[str]]:
    """Each comparison, and the promises that are broken."""
    imported = pipeline.import_model(network.model)
    graph = apply(imported, pipeline.QUANTISING)
    program = Program(pipeline.compile_graph(imported, "generic"), "", None, 0.0)
    names = quantised_names(network.model)
    tallies, broken = {what: Tally() for what in COMPARISONS}, list[str]()
    for feeds in network.feeds:
        plain, kernels = run_onnxruntime(network.model, feeds), run_integer_kernels(network.model, feeds)
        check = program.check(feeds, tolerance=FLOATS, per_layer=True)
        if not check.agrees:
            broken.append(f"{network.name}: the C differs from numpy at {check.first_difference}")
        found = [
            check.result.layers, layer_by_layer(graph, feeds, plain), layer_by_layer(graph, feeds, kernels), kernels,
            evaluate(imported, feeds),
        ]  # fmt: skip
        wanted = [plain, plain, kernels, plain, plain]
        for tally, ours, theirs in zip(tallies.values(), found, wanted, strict=True):
            tally.add(names, ours, theirs)
    for what in COMPARISONS[1:3]:
        broken += [f"{network.name}, {what}: {name}" for name in tallies[what].broken(len(network.feeds))]
    return tallies, broken


if __name__ == "__main__":
    main()
