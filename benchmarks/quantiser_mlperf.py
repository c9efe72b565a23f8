"""MLPerf Tiny's official float networks quantised here, against their official int8 files.

Both are compared with the float network on the same inputs, which are levels of the int8 file's input format and thus
exact for the official file. Real data is not at hand, so there are two kinds of inputs: the noise that lies beside the
files, and inputs that look a little like what the networks were trained on (pictures of Fashion-MNIST for those of
pictures; coefficients that fall off as those of speech do for kws). Ours is calibrated on other inputs of the same
kind; the official files were calibrated on real data, which noise is far from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tflite
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.quantiser_peers import snr_db
from examples.fashion_mnist.data import FOLDER as DATA
from examples.fashion_mnist.data import Missing, found, read_idx
from tests.support.networks import ROOT

from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.pipeline import compile_graph, import_model
from tilewright.program import Program
from tilewright.quantiser.quantise import Options, quantise

NETWORKS = {
    "kws": ("kws_ref_model_float32", "kws_ref_model"), "ic": ("pretrainedResnet", "pretrainedResnet_quant"),
    "vww": ("vww_96_float", "vww_96_int8"), "ad": ("ad01_fp32", "ad01_int8"),
}  # fmt: skip
FOLDER = ROOT / "mlperf_tiny"
FASHION = Path(os.environ.get("FASHION_MNIST", DATA))
TESTED, CALIBRATED = 16, 64
WAYS = {"ours": Options(), "ours, learned rounding": Options(learn_rounding=True)}


@dataclass(frozen=True)
class Scale:
    """What the levels of a tensor of a .tflite file stand for."""

    scale: float
    zero: int

    def floats(self, levels: Array) -> NDArray[np.float32]:
        return ((levels.astype(np.float32) - self.zero) * np.float32(self.scale)).astype(np.float32)


def scales(path: Path) -> tuple[Scale, Scale]:
    """Of the first input and the first output."""
    model = tflite.Model.GetRootAs(path.read_bytes(), 0)
    part = model.Subgraphs(0)
    found = [part.Tensors(number).Quantization() for number in (part.Inputs(0), part.Outputs(0))]
    first, last = (Scale(float(one.Scale(0)), int(one.ZeroPoint(0))) for one in found)
    return first, last


def noise(name: str, form: Scale) -> NDArray[np.int8]:
    """What lies beside the file, then other levels with the same mean and deviation."""
    with np.load(FOLDER / f"{NETWORKS[name][1]}.npz") as stored:
        levels = np.concatenate([stored[f"in_{number}"] for number in range(TESTED)])
    drawn = np.random.default_rng(99).normal(levels.mean(), levels.std(), (CALIBRATED, *levels.shape[1:]))
    return np.concatenate([levels, np.clip(np.rint(drawn), -128, 127).astype(np.int8)])


def pictures(name: str, form: Scale, folder: Path = FASHION) -> NDArray[np.int8]:
    """Clothes in the size that a network takes, in grey."""
    size, factor = {"ic": (32, 1), "vww": (96, 3)}[name]
    chosen = read_idx(found(folder, "train-images-idx3-ubyte"))[: TESTED + CALIBRATED]
    border = (size - 28 * factor) // 2
    large = np.pad(chosen.repeat(factor, 1).repeat(factor, 2), ((0, 0), (border, border), (border, border)))
    return np.repeat(large[..., None].astype(np.int16) - 128, 3, axis=3).astype(np.int8)


def coefficients(name: str, form: Scale) -> NDArray[np.int8]:
    """Ten cepstral coefficients that change slowly: the first large and negative, the others the smaller the later."""
    random = np.random.default_rng(7)
    steps = random.normal(size=(TESTED + CALIBRATED, 49, 10))
    slow = np.stack([np.convolve(row, np.ones(5) / np.sqrt(5), "same") for row in steps.swapaxes(1, 2).reshape(-1, 49)])
    sizes = np.array([20.0, *(12.0 / np.sqrt(np.arange(1, 10)))])
    values = slow.reshape(-1, 10, 49).swapaxes(1, 2) * sizes + np.array([-40.0, *[0.0] * 9])
    return np.clip(np.rint(values / form.scale) + form.zero, -128, 127).astype(np.int8)[..., None]


KINDS: dict[str, list[Callable[[str, Scale], NDArray[np.int8]]]] = {
    "kws": [noise, coefficients], "ic": [noise, pictures], "vww": [noise, pictures], "ad": [noise],
}  # fmt: skip
"""Of the inputs of each network; an axis of TESTED + CALIBRATED in front."""


def run_all(model: Path | Graph, inputs: Array) -> Array:
    """The first output for every input, by our C on this machine."""
    graph = import_model(model) if isinstance(model, Path) else model
    return Program(compile_graph(graph, "generic"), "", None, 0.0).run_steps([inputs[:, None]])[0]


def row(name: str, levels: Array, form: Scale) -> list[float]:
    """The signal-to-noise ratio of the official int8 file and of ours in each way, in dB."""
    float_file, int8_file = (FOLDER / f"{stem}.tflite" for stem in NETWORKS[name])
    inputs, graph = form.floats(levels), import_model(float_file)
    wanted = run_all(graph, inputs[:TESTED])
    official = scales(int8_file)[1].floats(run_all(int8_file, levels[:TESTED]))
    made = [quantise(graph, inputs[TESTED:], options).graph for options in WAYS.values()]
    return [snr_db(wanted, one) for one in (official, *(run_all(graph, inputs[:TESTED]) for graph in made))]


def main() -> None:
    table = Table(title="MLPerf Tiny: int8 against the float network's outputs, signal-to-noise in dB")
    for column in ("network", "inputs", "official int8", *WAYS):
        table.add_column(column, justify="left" if column in ("network", "inputs") else "right")
    for name in sys.argv[1:] or NETWORKS:
        form, _ = scales(FOLDER / f"{NETWORKS[name][1]}.tflite")
        for kind in KINDS[name]:
            try:
                cells = [f"{value:.1f}" for value in row(name, kind(name, form), form)]
            except Missing:
                cells = ["no data"]
            table.add_row(name, kind.__name__, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
