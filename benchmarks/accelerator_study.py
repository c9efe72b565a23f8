"""What an accelerator saves on a plain RISC-V core, beside the figures of a published study with the same device.

python benchmarks/accelerator_study.py [resnet vww aww]

For each network, as int8 TensorFlow Lite file and as QDQ: instructions on the core alone, with QVanilla that takes no
time, 1 and 2 cycles per MAC (instructions that poll are counted), and with requantisation inside the device; and what
is saved. Float ends (QuantizeLinear, DequantizeLinear) are left out: the study's networks have int8 ends. Every run is
compared with the reference. The study's figures with 1 and 2 cycles per MAC are computed from its own (1 instruction =
1 cycle), with the MACs of the layers that its device takes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import ROOT

import tilewright as tw

EXAMPLES = Path(__file__).parent.parent / "examples"
FLOAT_ENDS = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True)
class Study:
    """What was published of a network, and where we have it."""

    files: tuple[str, str]
    alone: float
    zero_cycles: float
    macs: int
    """Of layers with stride 1 and one group."""

    def at(self, cycles_per_mac: int) -> float:
        return self.zero_cycles + cycles_per_mac * self.macs


NETWORKS = {
    "resnet": Study(
        ("mlperf_tiny/pretrainedResnet_quant.tflite", "qdq/resnet8_cifar/int8.onnx"), 5.73e7, 1.44e7, 9_879_552
    ),
    "vww": Study(("mlperf_tiny/vww_96_int8.tflite", "qdq/mbv1_025_vww/int8.onnx"), 4.12e7, 1.46e7, 6_193_152),
    "aww": Study(("mlperf_tiny/kws_ref_model.tflite", "qdq/dscnn_kws/int8.onnx"), 1.43e7, 5.34e6, 2_048_000),
}
DEVICES = {
    "QVanilla, no time": "qvanilla:cycles_per_mac=0",
    "QVanilla, 1 cycle per MAC": "qvanilla:cycles_per_mac=1",
    "QVanilla, 2 cycles per MAC": "qvanilla:cycles_per_mac=2",
    "requantising, no time": "qvanilla_requant:cycles_per_mac=0",
    "requantising, 2 cycles per MAC": "qvanilla_requant:cycles_per_mac=2",
    "16 x 16 array": "ws_array",
}


@dataclass(frozen=True)
class Row:
    instructions: int
    """Of the integer part."""
    cycles: int
    nodes: int
    macs: int
    """That the device has taken."""


def measured(model: Path, device: str) -> Row:
    added = [f"{EXAMPLES / device}"] if device else []
    program = tw.compile(model, target="rv32", accelerators=added)
    check = program.check()
    if not check.agrees:
        raise SystemExit(f"{model.stem} with {device or 'the core alone'} differs: {check.first_difference}")
    profile = program.profile().profile
    ends = [layer for layer in profile.layers if layer.operator in FLOAT_ENDS]
    instructions = (check.result.instructions or 0) - sum(layer.instructions or 0 for layer in ends)
    cycles = (check.result.cycles or 0) - sum(layer.cycles for layer in ends)
    taken = program.analysis.offloaded.values()
    return Row(instructions, cycles, sum(one["nodes"] for one in taken), sum(one["macs"] for one in taken))


def published(study: Study, device: str) -> str:
    at = {"no time": 0, "1 cycle per MAC": 1, "2 cycles per MAC": 2}
    steps = [cycles for text, cycles in at.items() if device == f"QVanilla, {text}"]
    if not steps:
        return ""
    found = study.at(steps[0])
    return f"{found:9.2e} {1 - found / study.alone:7.1%}{'' if steps[0] == 0 else ' (computed)'}"


def main() -> None:
    names = sys.argv[1:] or list(NETWORKS)
    for name in names:
        study = NETWORKS[name]
        for file in study.files:
            model = ROOT / file
            alone = measured(model, "")
            print(f"\n{name}, {file}")
            print(f"{'':32}{'layers':>7}{'MACs':>12}{'instructions':>14}{'saved':>8}{'cycles':>12}   the study")
            print(f"{'core alone':32}{'':7}{'':12}{alone.instructions:14,}{'':8}{alone.cycles:12,} {study.alone:11.2e}")
            for device, folder in DEVICES.items():
                row = measured(model, folder)
                saved = 1 - row.instructions / alone.instructions
                print(
                    f"{device:32}{row.nodes:7}{row.macs:12,}{row.instructions:14,}{saved:8.1%}{row.cycles:12,}   "
                    f"{published(study, device)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
