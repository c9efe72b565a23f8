"""MLPerf Tiny's official float networks quantised here, against their official int8 files.

Both are compared with the float network on the same inputs: those that lie beside the files, which are noise (seeded
normal levels), given to the float network as what the int8 file's input format makes of them. Inputs are thus exact for
the official file. Ours is calibrated on other noise of the same mean and deviation; the official files were calibrated
on real data, which is not at hand.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tflite
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.quantiser_peers import snr_db
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
TESTED, CALIBRATED = 16, 64


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


def noise_like(levels: Array, count: int) -> NDArray[np.int8]:
    """Other levels with the mean and deviation of the given ones."""
    drawn = np.random.default_rng(99).normal(levels.mean(), levels.std(), (count, *levels.shape[1:]))
    return np.clip(np.rint(drawn), -128, 127).astype(np.int8)


def run_all(model: Path | Graph, inputs: Array) -> Array:
    """The first output for every input, by our C on this machine."""
    graph = import_model(model) if isinstance(model, Path) else model
    return Program(compile_graph(graph, "generic"), "", None, 0.0).run_steps([inputs[:, None]])[0]


def row(name: str, options: Options) -> tuple[float, float]:
    """The signal-to-noise ratio of the official int8 file and of ours, in dB."""
    float_file, int8_file = (FOLDER / f"{stem}.tflite" for stem in NETWORKS[name])
    first, last = scales(int8_file)
    with np.load(int8_file.with_suffix(".npz")) as stored:
        levels = np.concatenate([stored[f"in_{number}"] for number in range(TESTED)])
    inputs, graph = first.floats(levels), import_model(float_file)
    wanted = run_all(graph, inputs)
    made = quantise(graph, first.floats(noise_like(levels, CALIBRATED)), options)
    official, ours = last.floats(run_all(int8_file, levels)), run_all(made.graph, inputs)
    return snr_db(wanted, official), snr_db(wanted, ours)


def main() -> None:
    table = Table(title="MLPerf Tiny: int8 against the float network's outputs, signal-to-noise in dB")
    for column in ("network", "official int8", "ours", "ours, learned rounding"):
        table.add_column(column, justify="left" if column == "network" else "right")
    for name in sys.argv[1:] or NETWORKS:
        (official, ours), (_, learned) = row(name, Options()), row(name, Options(learn_rounding=True))
        table.add_row(name, *(f"{value:.1f}" for value in (official, ours, learned)))
    Console().print(table)


if __name__ == "__main__":
    main()
