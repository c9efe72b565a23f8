"""Accuracy of the networks of examples/fashion_mnist in floats, quantised by ONNX Runtime, and by us step by step.

    python examples/fashion_mnist/train.py --out models && python benchmarks/quantiser_accuracy.py models

Both quantisers see the same 500 pictures of the training set; accuracy is that of the 10,000 of the test set. Ours is
measured on our integer C on this machine; a few pictures also run on the virtual SoC and must give the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.quantiser_peers import SETTINGS, Floats, accuracy, quantised, scores, snr_db
from examples.fashion_mnist.data import FOLDER, Missing, calibration, load

from tilewright import pipeline
from tilewright.ir.graph import Graph
from tilewright.program import Program
from tilewright.quantiser.quantise import Options, Quantised, quantise
from tilewright.target.settings import Settings

NAMES = ("cnn", "mobilenet", "vit", "lstm")
BYTES = Options(fine_outputs=False, fine_sums=False)
STEPS = {
    "min-max": replace(BYTES, choose_ranges=False, balance=False, correct_bias=False),
    "+ chosen ranges": replace(BYTES, balance=False, correct_bias=False),
    "+ equalisation": replace(BYTES, correct_bias=False),
    "+ bias correction": BYTES,
    "+ 16-bit scores": Options(fine_sums=False),
    "+ 16-bit sums before norms (default)": Options(),
    "+ learned rounding": Options(learn_rounding=True),
}
"""What the quantiser does, one step more in each."""
CALIBRATED, SIMULATED = 500, 3


@dataclass(frozen=True)
class Data:
    calibration: Floats
    pictures: Floats
    labels: NDArray[np.int64]


def data_of(folder: Path, tested: int) -> Data:
    pictures, labels = load("t10k", folder)
    return Data(calibration(CALIBRATED, folder), pictures[:tested], labels[:tested])


def program_of(graph: Graph, target: str = "generic", engines: tuple[str, ...] = ()) -> Program:
    """With requantisations as the NPU has them, on this machine too."""
    stages = pipeline.stages(graph, target, settings=Settings(numerics="hardware", engines=engines))
    return Program(pipeline.Compiled(*stages), "", None, 0.0)


def c_scores(graph: Graph, pictures: Floats) -> Floats:
    """What our C gives for each picture."""
    return np.asarray(program_of(graph).run_steps([pictures[:, None]])[0], np.float32)


def equal_on_soc(graph: Graph, pictures: Floats, target: str) -> bool:
    """Whether the virtual SoC gives what the C gives on this machine, to the bit."""
    program, wanted = program_of(graph, target), c_scores(graph, pictures)
    found = [program.run(picture[None])[0] for picture in pictures]
    return all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))


@dataclass(frozen=True)
class Measured:
    """How often the right class comes out, how often that of the float network, and how exactly its scores do."""

    accuracy: float
    agreement: float
    snr_db: float

    def __str__(self) -> str:
        return f"{100 * self.accuracy:.2f} {100 * self.agreement:6.2f} {self.snr_db:4.1f}"


def measured(found: Floats, wanted: Floats, labels: NDArray[np.int64]) -> Measured:
    found = found.reshape(wanted.shape)
    return Measured(accuracy(found, labels), accuracy(found, wanted.argmax(axis=1)), snr_db(wanted, found))


def peer_row(path: Path, data: Data, wanted: Floats) -> dict[str, Measured]:
    """What ONNX Runtime's quantiser reaches in each of its settings."""
    models = {setting: quantised(path, data.calibration, setting) for setting in SETTINGS}
    return {setting: measured(scores(model, data.pictures), wanted, data.labels) for setting, model in models.items()}


def our_row(path: Path, data: Data, wanted: Floats) -> tuple[dict[str, Measured], Quantised]:
    """What is reached after each step, and the network as it is by default."""
    graph, found = pipeline.import_model(path), dict[str, Measured]()
    for step, options in STEPS.items():
        start = time.perf_counter()
        made = quantise(graph, data.calibration, options)
        found[step] = measured(c_scores(made.graph, data.pictures), wanted, data.labels)
        print(f"  {path.stem}, {step}: {found[step]}, {time.perf_counter() - start:.0f} s", flush=True)
        if options == Options():
            default = made
    return found, default


def column(path: Path, data: Data, target: str) -> list[str]:
    """What the table says of one network, from above."""
    wanted = scores(path, data.pictures)
    before, peers = accuracy(wanted, data.labels), peer_row(path, data, wanted)
    print(f"{path.stem}: float {before:.2%}, ONNX Runtime {', '.join(map(str, peers.values()))}", flush=True)
    ours, made = our_row(path, data, wanted)
    kept = ", ".join(sorted({kept.operator for kept in made.report.floats})) or "nothing"
    equal = equal_on_soc(made.graph, data.pictures[:SIMULATED], target)
    numbers = [f"{100 * before:.2f} 100.00     ", *map(str, (*peers.values(), *ours.values()))]
    return [*numbers, kept, "equal" if equal else "DIFFERS"]


def table(columns: dict[str, list[str]], target: str) -> Table:
    made = Table(title="Fashion-MNIST, test set: accuracy %, same class as in floats %, signal-to-noise dB")
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
