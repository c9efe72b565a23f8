"""Every quantised tensor of networks with QuantizeLinear and DequantizeLinear: our C against ONNX Runtime.

    python benchmarks/quantised_agreement.py [--samples N] [MODEL ...]

A network that comes in floats (ONNX, or TensorFlow Lite) is first quantised by us, with the samples that lie beside it,
and written as ONNX. Without models it is the quantised and the float networks of the folder of networks. Comparisons:

* the whole network in C (target generic) with ONNX Runtime, whose optimisations are off: it computes in floats between
  quantisers;
* each layer alone, fed with ONNX Runtime's own tensors, which is what is promised: at most 1 step apart, and 99 % equal
  (or all but one element of small tensors);
* the same with ONNX Runtime's optimisations on: its kernels of integers;
* ONNX Runtime on and off with itself, and the float graph computed with numpy in another order of summation: what float
  arithmetic itself leaves open.

The C is also held to numpy's integers, to the bit. The exit code is 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import ModelProto
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.e2e.test_qdq import MODELS, quantised_names
from tests.support.networks import models, named_or
from tests.support.quantiser import run_integer_kernels, run_onnxruntime

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.export import model_of
from tilewright.ir.evaluate import evaluate, evaluate_node
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.passes import apply
from tilewright.program import Program
from tilewright.quantiser.quantise import quantise

Values = Mapping[str, Array]
STEPS, EQUAL = 1, 0.99
"""What is promised of each layer alone."""

FLOAT = [
    *models("qdq/*/fp32.onnx"),
    *models("mlperf_tiny/*fp32.tflite"),
    *models("mlperf_tiny/*float*.tflite"),
    *models("mlperf_tiny/pretrainedResnet.tflite"),
]
COMPARISONS = (
    "whole network in C", "each layer alone", "each layer alone, its kernels of integers",
    "its kernels of integers with its floats", "float graph in numpy",
)  # fmt: skip


@dataclass
class Tally:
    """How far two computations of quantised tensors are apart, over all samples."""

    largest: dict[str, int] = field(default_factory=dict)
    unequal: dict[str, int] = field(default_factory=dict)
    elements: dict[str, int] = field(default_factory=dict)

    def add(self, names: Iterable[str], found: Values, wanted: Values) -> None:
        for name in names:
            if name in found and name in wanted:
                apart = np.abs(found[name].astype(np.int64) - wanted[name].astype(np.int64))
                self.largest[name] = max(self.largest.get(name, 0), int(apart.max(initial=0)))
                self.unequal[name] = self.unequal.get(name, 0) + int(np.count_nonzero(apart))
                self.elements[name] = self.elements.get(name, 0) + apart.size

    def broken(self, samples: int) -> list[str]:
        """Tensors that are further apart than what is promised."""
        allowed = {name: max(samples, (1 - EQUAL) * count) for name, count in self.elements.items()}
        return [name for name, n in self.unequal.items() if n > allowed[name] or self.largest[name] > STEPS]

    def cells(self) -> list[str]:
        """How many tensors, the largest difference in steps, the worst tensor's and the overall share of equals."""
        if not self.elements:
            return ["0", *["-"] * 3]
        worst = max(self.unequal[name] / self.elements[name] for name in self.elements)
        overall = sum(self.unequal.values()) / sum(self.elements.values())
        return [str(len(self.elements)), str(max(self.largest.values())), f"{1 - worst:.3%}", f"{1 - overall:.4%}"]


@dataclass(frozen=True)
class Network:
    name: str
    model: ModelProto
    feeds: Sequence[dict[str, Array]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--samples", type=int, default=2, help="compared of each network")
    given = parser.parse_args()
    table, broken = _table(), list[str]()
    for path in named_or(given.models, [*MODELS, *FLOAT]):
        network = network_of(path, given.samples)
        tallies = compare(network)
        for what in COMPARISONS:
            table.add_row(network.name if what == COMPARISONS[0] else "", what, *tallies[what].cells())
        table.add_section()
        for what in COMPARISONS[1:3]:
            broken += [f"{network.name}, {what}: {name}" for name in tallies[what].broken(len(network.feeds))]
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


def network_of(path: Path, count: int) -> Network:
    """A quantised network as it is; a float one as our quantiser makes it."""
    graph = pipeline.import_model(path)
    samples = samples_of(path, graph)
    name = path.parent.name if path.suffix == ".onnx" else path.stem
    quantised = any(node.op.kind == "QuantizeLinear" for node in graph.nodes)
    if not quantised:
        name, graph = f"{name} (by us)", quantise(graph, samples).graph
    feeds = [{graph.inputs[0]: sample[None]} for sample in samples[:count]]
    return Network(name, model_of(graph), feeds)


def samples_of(path: Path, graph: Graph) -> Array:
    """Inputs with an axis of samples in front: those that lie beside a model and, if it is but one, noise like it."""
    if (path.parent / "inputs.npz").is_file():
        with np.load(path.parent / "inputs.npz") as file:
            first = file[file.files[0]]
        noise = np.random.default_rng(0).standard_normal((15, *first.shape[1:])) * first.std() + first.mean()
        return np.concatenate([first, noise.astype(first.dtype)])
    if not path.with_suffix(".npz").is_file():
        raise SystemExit(f"no samples beside {path}: inputs.npz, or {path.stem}.npz with in_0, in_1, ...")
    with np.load(path.with_suffix(".npz")) as file:
        return np.concatenate([file[name] for name in file.files if name.startswith("in_")])


# ---- comparisons ----------------------------------------------------------------------------------------------------


def compare(network: Network) -> dict[str, Tally]:
    imported = pipeline.import_model(network.model)
    graph = apply(imported, pipeline.QUANTISING)
    program = Program(pipeline.compile_graph(imported, "generic"), "", None, 0.0)
    names = quantised_names(network.model)
    tallies = {what: Tally() for what in COMPARISONS}
    for feeds in network.feeds:
        plain, kernels = run_onnxruntime(network.model, feeds), run_integer_kernels(network.model, feeds)
        check = program.check(feeds, tolerance=0.0, per_layer=True)
        if not check.agrees:
            raise CompileError(network.name, f"the C differs from numpy's integers at {check.first_difference}")
        found = [
            check.result.layers, layer_by_layer(graph, feeds, plain), layer_by_layer(graph, feeds, kernels), kernels,
            evaluate(imported, feeds),
        ]  # fmt: skip
        wanted = [plain, plain, kernels, plain, plain]
        for tally, ours, theirs in zip(tallies.values(), found, wanted, strict=True):
            tally.add(names, ours, theirs)
    return tallies


def layer_by_layer(graph: Graph, feeds: Values, wanted: Values) -> dict[str, Array]:
    """What each layer makes of ONNX Runtime's results of the layers before."""
    values, made = {**graph.constants, **feeds}, dict[str, Array]()
    for node in graph.nodes:
        results = evaluate_node(graph, node, values)
        found = {name: value for name, value in zip(node.outputs, results, strict=False) if name}
        made |= found
        values |= {name: wanted.get(name, value) for name, value in found.items()}
    return made


if __name__ == "__main__":
    main()
