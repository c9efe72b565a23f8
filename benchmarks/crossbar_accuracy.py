"""Accuracy of a network in crossbars against noise and ADC bits, by the reference that the device equals:

    python benchmarks/crossbar_accuracy.py cnn.onnx --data FOLDER      (the network: examples/fashion_mnist/train.py)

A row for each noise and each number of bits, with a column for each seed, their mean and their standard deviation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))
from examples.fashion_mnist.data import FOLDER, Missing, calibration, load

from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Graph
from tilewright.pipeline import import_model, stage
from tilewright.quantiser.quantise import quantise
from tilewright.target.settings import Settings

CROSSBARS = Path(__file__).parents[1] / "examples" / "crossbars"
Labelled = tuple[NDArray[np.float32], NDArray[np.int64]]
CELLS = "cell_bits=4,input_bits=4"
NOISES, BITS, SEEDS = (0.0, 0.02, 0.05, 0.1, 0.2), (12, 10, 8, 7, 6, 5), (0, 1, 2)


def accuracy(graph: Graph, words: str, data: Labelled) -> float:
    settings = Settings(accelerators=(f"{CROSSBARS}:{CELLS},crossbars=9{words}",))
    meaning = stage(graph, "rv32", "quantised", settings=settings)
    (name,), (output,) = meaning.inputs, meaning.outputs
    right = [
        evaluate_outputs(meaning, {name: one[None]})[output].argmax() == label for one, label in zip(*data, strict=True)
    ]
    return float(np.mean(right))


def rows(graph: Graph, data: Labelled) -> Iterator[str]:
    for noise in NOISES:
        seeds = SEEDS if noise else SEEDS[:1]
        yield row(f"noise {noise:g}", [accuracy(graph, f",noise={noise},seed={seed}", data) for seed in seeds])
    for bits in BITS:
        yield row(f"{bits} ADC bits", [accuracy(graph, f",adc_bits={bits}", data)])


def row(name: str, found: Sequence[float]) -> str:
    spread = f" ± {stdev(found):.1%}" if len(found) > 1 else ""
    return f"| {name} | {' '.join(f'{one:.1%}' for one in found)} | {mean(found):.1%}{spread} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="float ONNX, whose input is one picture")
    parser.add_argument("--data", type=Path, default=FOLDER, help="folder of Fashion-MNIST")
    parser.add_argument("--pictures", type=int, default=500, help="of the test set")
    given = parser.parse_args()
    try:
        pictures, labels = load("t10k", given.data)
        graph: Any = quantise(import_model(given.model), calibration(200, given.data)[:, None]).graph
        print("| | seeds | mean |\n|---|---|---|")
        for line in rows(graph, (pictures[: given.pictures], labels[: given.pictures])):
            print(line, flush=True)
    except (CompileError, Missing) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
