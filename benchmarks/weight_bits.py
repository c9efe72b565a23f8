"""Weights of 2 to 8 bits on the virtual Siracusa: cycles, bytes of weights and energy, by network and engine.

    python benchmarks/weight_bits.py [--bits 2,3,4,6,8] [--networks decode,tokens,keywords,pixels] [--json FILE]

Networks of 8 bits have their weights shifted to the right: what that does to accuracy is not asked here. Every output
is compared with the reference, bit by bit. Cycles are from the call of the network to its return; inputs and outputs
are in L2, weights where the column says.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.dialect import Model, one_element, requant
from tests.support.networks import ROOT, stored

import tilewright as tw
from tilewright.ir.types import Array
from tilewright.program import Program
from tilewright.target.settings import Settings

BITS = (2, 3, 4, 6, 8)
WHOLE = 8
WEIGHTED = ("Conv", "MatMul", "Gemm", "RequantizedConv", "RequantizedGemm", "RQMatMul")
LEAST_WEIGHTS = 64
SHIFT = 16
CORES = ("cluster",)
PLACES: Mapping[str, Settings] = {
    "NPU, weight memory": Settings(),
    "NPU and cores, L2": Settings(weight_memory=False),
    "NPU and cores, L3": Settings(weight_memory=False, home="L3"),
    "cores, L2": Settings(engines=CORES),
    "cores, L3": Settings(engines=CORES, home="L3", weight_memory=False),
}


@dataclass(frozen=True)
class Network:
    proto: onnx.ModelProto
    inputs: Mapping[str, Array]


@dataclass(frozen=True)
class Row:
    network: str
    place: str
    bits: int
    cycles: int
    weight_bytes: int
    microjoules: float


# ---- networks -------------------------------------------------------------------------------------------------------


def stored_network(path: str) -> Network:
    file = ROOT / "peer" / "Models" / path / "network.onnx"
    if not file.is_file():
        raise SystemExit(f"no network at {file}: set TILEWRIGHT_NETWORKS to their folder")
    return Network(onnx.load(file), stored(file)[0])


def chain(rows: int, widths: tuple[int, ...]) -> Network:
    """Linear layers one after the other, weights of all 8 bits: what one token asks of a language model, or a
    convolutional network's pixels of layers with one tap."""
    random = np.random.default_rng(0)
    model = Model(0, {"x": random.integers(-128, 127, (1, rows, widths[0]), endpoint=True)})
    tensor = "x"
    for channels, filters in itertools.pairwise(widths):
        tensor = _linear(model, tensor, channels, filters)
    return Network(model.proto(tensor), {"x": model.inputs["x"].astype(np.float32)})


def _linear(model: Model, x: str, channels: int, filters: int) -> str:
    weights = model.constant(model.weights(channels, filters, low=-128, high=127))
    product = model.node("MatMul", [x, weights], model.values[x] @ model.values[weights])
    top = max(2, 100 * 2**SHIFT // int(np.abs(model.values[product]).max()))
    mul = model.weights(filters, low=top // 2, high=top)
    add = model.weights(filters, low=-(2**SHIFT), high=2**SHIFT)
    attributes = {"div": one_element(2**SHIFT), "n_levels_out": one_element(256), "signed": one_element(1)}
    value = requant(model.values[product], mul, add, SHIFT, 256, True)
    return model.node(
        "RequantShift", [product, model.constant(mul), model.constant(add)], value, "PACTOps", **attributes
    )


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "decode": lambda: chain(1, (512, 1376, 512, 512)),
    "tokens": lambda: stored_network("microLlama/INT8/microLlama64"),
    "keywords": lambda: stored_network("MLPerf/KeywordSpotting"),
    "pixels": lambda: chain(64, (128, 256, 128)),
}
"""A token through a Llama's feed-forward layers; a small language model's with 64 cached; a DS-CNN; 64 pixels."""


def coarse(proto: onnx.ModelProto, bits: int) -> onnx.ModelProto:
    """The network with weights of fewer bits."""
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    read = {node.input[1] for node in made.graph.node if node.op_type in WEIGHTED and len(node.input) > 1}
    for tensor in made.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.name in read and values.ndim > 1 and values.size >= LEAST_WEIGHTS:
            shifted = np.floor(values / 2 ** (WHOLE - bits)).astype(values.dtype)
            tensor.CopyFrom(numpy_helper.from_array(shifted, tensor.name))
    return made


# ---- figures --------------------------------------------------------------------------------------------------------


def measure(name: str, network: Network, place: str, bits: int) -> Row:
    """Ends where an output is not the reference's."""
    proto = coarse(network.proto, bits)
    program = tw.compile(proto, target="siracusa", settings=PLACES[place], example_inputs=dict(network.inputs))
    check = program.check(dict(network.inputs))
    if not check.agrees:
        raise SystemExit(f"{name}, {place}, {bits} bits: {check.first_difference}")
    energy = check.result.energy
    spent = energy.microjoules if energy else 0.0
    return Row(name, place, bits, check.result.cycles or 0, weight_bytes(program), spent)


def weight_bytes(program: Program) -> int:
    """Of the constants that sums of products read as their second operand, as they are stored."""
    graph = program.plan.mapped.graph
    names = {node.inputs[1] for node in graph.nodes if graph.macs(node) and len(node.inputs) > 1}
    return sum(graph.types[name].bytes for name in names if name in graph.constants)


def rows(networks: list[str], bits: list[int]) -> Iterator[Row]:
    for name in networks:
        network = NETWORKS[name]()
        for place in PLACES:
            for width in bits:
                yield measure(name, network, place, width)


def print_table(found: list[Row]) -> None:
    table = Table(title="weights of few bits on Siracusa")
    for heading in ("network", "weights", "bits", "cycles", "speed-up", "bytes of weights", "uJ"):
        table.add_column(heading, justify="left" if heading in ("network", "weights") else "right")
    whole = {(row.network, row.place): row.cycles for row in found if row.bits == WHOLE}
    for row in found:
        base = whole.get((row.network, row.place))
        ratio = f"{base / row.cycles:.2f}x" if base else ""
        figures = str(row.bits), f"{row.cycles:,}", ratio, f"{row.weight_bytes:,}", f"{row.microjoules:.1f}"
        table.add_row(row.network, row.place, *figures)
    Console(width=120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bits", type=lambda text: [*map(int, text.split(","))], default=BITS)
    parser.add_argument("--networks", type=lambda text: text.split(","), default=list(NETWORKS))
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    options = parser.parse_args()
    if unknown := set(options.networks) - set(NETWORKS):
        parser.error(f"no network '{min(unknown)}'; there are {', '.join(NETWORKS)}")
    found = list(rows(options.networks, list(options.bits)))
    print_table(found)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
