"""Weights of 8, 4 and 2 bits on Siracusa's NPU: accuracy, cycles, bytes of weights and energy, side by side.

    python examples/fashion_mnist/train.py --out models && python benchmarks/weight_bits_accuracy.py models

The networks of examples/fashion_mnist, quantised with 500 pictures of the training set, rounding learned. Accuracy is
that of the test set, of our integer C on this machine; cycles and energy are those of the virtual Siracusa for one
picture, which must give the same to the bit. Activations are as the quantiser makes them, 8 bits but for a few.

Filters with a window take memory by their bits. N-EUREKA reads a word of 32 bytes for 32 weights of filters with one
tap whatever their bits, so that networks of pointwise convolutions hardly shrink.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.quantiser_accuracy import Data, data_of, program_of
from benchmarks.quantiser_peers import Floats, accuracy, scores
from benchmarks.weight_bits import weight_bytes
from examples.fashion_mnist.data import FOLDER, Missing

from tilewright import pipeline
from tilewright.ir.graph import Graph
from tilewright.quantiser.quantise import Options, quantise
from tilewright.quantiser.widths import Width, Widths

NAMES = ("cnn", "mobilenet", "vit")
BITS = (8, 4, 2)
TARGET = "siracusa"


@dataclass(frozen=True)
class Row:
    network: str
    bits: int
    """Of weights."""
    accuracy_float: float
    accuracy: float
    agreement: float
    """The share of pictures with the class of the float network."""
    cycles: int
    weight_bytes: int
    microjoules: float


def row(path: Path, graph: Graph, bits: int, data: Data, wanted: Floats, engines: tuple[str, ...]) -> Row:
    options = Options(Widths(default=Width(bits)), learn_rounding=True)
    made = quantise(graph, data.calibration, options).graph
    here, program = program_of(made), program_of(made, TARGET, engines)
    found = np.asarray(here.run_steps([data.pictures[:, None]])[0], np.float32).reshape(wanted.shape)
    run = program.run(data.pictures[:1])
    if not np.array_equal(np.asarray(run[0]).reshape(-1), found[0]):
        raise SystemExit(f"{path.stem}, {bits} bits: {TARGET} gives other scores than the C on this machine")
    return Row(
        path.stem, bits, accuracy(wanted, data.labels), accuracy(found, data.labels),
        accuracy(found, wanted.argmax(axis=1)), run.cycles or 0, weight_bytes(program),
        run.energy.microjoules if run.energy else 0.0,
    )  # fmt: skip


def rows(
    folder: Path, names: Sequence[str], bits: Sequence[int], data: Data, engines: tuple[str, ...]
) -> Iterator[Row]:
    for name in names:
        path = folder / f"{name}.onnx"
        graph, wanted = pipeline.import_model(path), scores(path, data.pictures)
        for width in bits:
            made = row(path, graph, width, data, wanted, engines)
            print(made, flush=True)
            yield made


def table(found: Sequence[Row]) -> Table:
    made = Table(title=f"Fashion-MNIST on {TARGET}, one picture, by bits of weights")
    for heading in ("network", "bits", "accuracy %", "as in floats %", "cycles", "bytes of weights", "uJ"):
        made.add_column(heading, justify="left" if heading == "network" else "right")
    for one in found:
        made.add_row(
            f"{one.network} (float {one.accuracy_float:.2%})", str(one.bits), f"{100 * one.accuracy:.2f}",
            f"{100 * one.agreement:.2f}", f"{one.cycles:,}", f"{one.weight_bytes:,}", f"{one.microjoules:.1f}",
        )  # fmt: skip
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, help="folder of the ONNX files that train.py wrote")
    parser.add_argument("names", nargs="*", default=NAMES, help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--bits", type=lambda text: [*map(int, text.split(","))], default=BITS)
    parser.add_argument("--engines", nargs="*", default=(), help="cluster: the cores alone; default: all")
    parser.add_argument("--data", type=Path, default=FOLDER, help=f"folder of the idx files, default {FOLDER}")
    parser.add_argument("--tested", type=int, default=10_000, help="pictures of the test set")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    given = parser.parse_args()
    try:
        data = data_of(given.data, given.tested)
    except Missing as missing:
        sys.exit(f"error: {missing}")
    found = list(rows(given.models, given.names, given.bits, data, tuple(given.engines)))
    Console(width=110).print(table(found))
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
