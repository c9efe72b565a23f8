"""Accuracy of the networks of examples/fashion_mnist in floats, quantised by ONNX Runtime, and by us step by step.

    python examples/fashion_mnist/train.py --out models && python benchmarks/quantiser_accuracy.py models

Both quantisers see the same 500 pictures of the training set; accuracy is that of the 10,000 of the test set. Ours is
measured on our integer C on this machine; a few pictures also run on the virtual SoC and must give the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.quantiser_peers import SETTINGS, Floats, accuracy, quantised, scores
from examples.fashion_mnist.data import FOLDER, Missing, calibration, load

from tilewright import pipeline
from tilewright.ir.graph import Graph
from tilewright.program import Program
from tilewright.quantiser.quantise import Options, Quantised, quantise

NAMES = ("cnn", "mobilenet", "vit", "lstm")
STEPS = {
    "min-max": Options(choose_ranges=False, balance=False, correct_bias=False),
    "+ chosen ranges": Options(balance=False, correct_bias=False),
    "+ equalisation": Options(correct_bias=False),
    "+ bias correction": Options(),
    "+ learned rounding": Options(learn_rounding=True),
}
"""What the quantiser does, one step more in each; the last but one is what it does by default."""
CALIBRATED, SIMULATED = 500, 3


@dataclass(frozen=True)
class Data:
    calibration: Floats
    pictures: Floats
    labels: NDArray[np.int64]


def data_of(folder: Path, tested: int) -> Data:
    pictures, labels = load("t10k", folder)
    return Data(calibration(CALIBRATED, folder), pictures[:tested], labels[:tested])


def program_of(graph: Graph, target: str = "generic") -> Program:
    return Program(pipeline.compile_graph(graph, target), "", None, 0.0)


def c_scores(graph: Graph, pictures: Floats) -> Floats:
    """What our C gives for each picture."""
    return np.asarray(program_of(graph).run_steps([pictures[:, None]])[0], np.float32)


def equal_on_soc(graph: Graph, pictures: Floats, target: str) -> bool:
    """Whether the virtual SoC gives what the C gives on this machine, to the bit."""
    program, wanted = program_of(graph, target), c_scores(graph, pictures)
    found = [program.run(picture[None])[0] for picture in pictures]
    return all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))


def peer_row(path: Path, data: Data) -> dict[str, float]:
    """The accuracy that ONNX Runtime's quantiser reaches in each of its settings."""
    models = {setting: quantised(path, data.calibration, setting) for setting in SETTINGS}
    return {setting: accuracy(scores(model, data.pictures), data.labels) for setting, model in models.items()}


def our_row(path: Path, data: Data) -> tuple[dict[str, float], Quantised]:
    """The accuracy after each step, and the network as it is by default."""
    graph, found = pipeline.import_model(path), dict[str, float]()
    for step, options in STEPS.items():
        start = time.perf_counter()
        made = quantise(graph, data.calibration, options)
        found[step] = accuracy(c_scores(made.graph, data.pictures), data.labels)
        print(f"  {path.stem}, {step}: {found[step]:.2%}, {time.perf_counter() - start:.0f} s", flush=True)
        if options == Options():
            default = made
    return found, default


def column(path: Path, data: Data, target: str) -> list[str]:
    """What the table says of one network, from above."""
    before = accuracy(scores(path, data.pictures), data.labels)
    peers = peer_row(path, data)
    print(f"{path.stem}: float {before:.2%}, ONNX Runtime {max(peers.values()):.2%}", flush=True)
    ours, made = our_row(path, data)
    kept = ", ".join(sorted({kept.operator for kept in made.report.floats})) or "nothing"
    equal = equal_on_soc(made.graph, data.pictures[:SIMULATED], target)
    numbers = [before, *peers.values(), *ours.values()]
    return [*(f"{100 * number:.2f}" for number in numbers), kept, "equal" if equal else "DIFFERS"]


def table(columns: dict[str, list[str]], target: str) -> Table:
    made = Table(title="Fashion-MNIST: accuracy on the test set in %")
    for heading in ("", *columns):
        made.add_column(heading, justify="right" if heading else "left")
    peers = [f"ONNX Runtime, {setting}" for setting in SETTINGS]
    rows = [
        "float",
        *peers,
        *(f"ours, {step}" for step in STEPS),
        "kept in float",
        f"on {target}, {SIMULATED} pictures",
    ]
    for heading, *cells in zip(rows, *columns.values(), strict=True):
        made.add_row(heading, *cells)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, help="folder of the ONNX files that train.py wrote")
    parser.add_argument("names", nargs="*", default=NAMES, help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--data", type=Path, default=FOLDER, help=f"folder of the idx files, default {FOLDER}")
    parser.add_argument("--target", default="siracusa", help="the virtual SoC that must give the same")
    parser.add_argument("--tested", type=int, default=10_000, help="pictures of the test set")
    given = parser.parse_args()
    try:
        data = data_of(given.data, given.tested)
    except Missing as missing:
        sys.exit(f"error: {missing}")
    columns = {name: column(given.models / f"{name}.onnx", data, given.target) for name in given.names}
    Console(width=110).print(table(columns, given.target))


if __name__ == "__main__":
    main()
