"""Estimated milliseconds of networks on boards, beside what others have published for the same shape.

    python benchmarks/board_networks.py [--boards NAME ...] [--layers] [MODEL ...]

Without a model: person detection's shape (MobileNetV1 x 0.25, 96 x 96 x 1, int8), with random weights. `--layers` adds
the cycles of each layer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.quantised_zoo.layers import SIDE, relu6, scaled
from benchmarks.quantised_zoo.mobilenet import V1
from benchmarks.quantised_zoo.networks import FAST, SAMPLES
from benchmarks.zoo_net import Net

import tilewright as tw
from tilewright import pipeline
from tilewright.export import save
from tilewright.quantiser.quantise import quantise

BOARDS = ("esp32-c3", "esp32-c6", "esp32-p4", "rp2350-riscv", "rp2350-arm", "ch32v307", "gd32vf103")
PUBLISHED = {"esp32-c3": 426.0}
"""Milliseconds of person detection with ESP-NN."""
MULTIPLIER, PEOPLE = 0.25, 2


def person_detection(folder: Path) -> Path:
    net = Net(1)
    x = relu6(net, net.conv(net.input(1, 1, SIDE, SIDE), scaled(32, MULTIPLIER), 3, 2))
    for width, stride in V1:
        x = relu6(net, net.depthwise(x, 3, stride))
        x = relu6(net, net.conv(x, scaled(width, MULTIPLIER), 1))
    scores = net.dense(net("Flatten", net("GlobalAveragePool", x)), net.channels[x], PEOPLE)
    samples = np.random.default_rng(2).normal(0, 1, (SAMPLES, 1, SIDE, SIDE)).astype(np.float32)
    path = folder / "person_detection.onnx"
    save(quantise(pipeline.import_model(net.model(scores)), samples, FAST).graph, path, False)
    return path


def _report(model: Path, board: str, layers: bool) -> None:
    program = tw.compile(model, target=board)
    check = program.check()
    macs = program.analysis.macs
    cycles, milliseconds = check.result.cycles or 0, check.result.milliseconds or 0.0
    known = f", published {PUBLISHED[board]:.0f} ms" if board in PUBLISHED and model.stem == "person_detection" else ""
    verdict = "agrees" if check.agrees else "DIFFERS"
    figures = f"{milliseconds:.1f} ms, {cycles:,} cycles, {cycles / macs:.2f} per MAC"
    print(f"{board}: {figures}{known}; {verdict}", flush=True)
    for layer in program.profile().profile.layers if layers else ():
        print(f"    {layer.cycles:>10,}  {layer.kernel}  {layer.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", nargs="*", default=list(BOARDS))
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("models", nargs="*", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models or [person_detection(Path(folder))]:
            for board in options.boards:
                try:
                    _report(model, board, options.layers)
                except tw.CompileError as error:
                    print(f"{board}: {str(error).splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()
