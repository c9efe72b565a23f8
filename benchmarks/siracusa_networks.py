"""Cycles of whole networks on the virtual Siracusa, beside what a peer publishes or what was measured of it.

    python benchmarks/siracusa_networks.py

Inputs, outputs and constants are in L2; cycles are from the call of the network to its return. Sources of the figures
of the peer (Deeploy) are in docs/measurements.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.networks import ROOT, stored

import tilewright as tw
from tilewright.target import Settings

MODELS = ROOT / "peer" / "Models"


@dataclass(frozen=True)
class Case:
    name: str
    path: str
    l1: int | None
    peer: int | None
    """Cycles, where it has some."""


CASES = (
    Case("language model, 64 tokens at once", "microLlama/INT8/microLlama64_parallel", 64_000, 35_300_000),
    Case("language model, 64 tokens at once", "microLlama/INT8/microLlama64_parallel", 8_000, 47_500_000),
    Case("language model, one token, 64 cached", "microLlama/INT8/microLlama64", 64_000, 890_000),
    Case("image classification (ResNet-8)", "MLPerf/ImageClassification", None, None),
    Case("keyword spotting (DS-CNN)", "MLPerf/KeywordSpotting", None, None),
    Case("small MobileNet", "miniMobileNet", None, None),
    Case("convolutional transformer, integers", "CCT/Int/ICCT", None, None),
)


def cycles(case: Case, cores: int) -> tuple[int, int]:
    """Cycles and MACs; ends where the outputs are not those that the network is stored with."""
    path = MODELS / case.path / "network.onnx"
    inputs, outputs = stored(path)
    program = tw.compile(path, target="siracusa", samples=inputs, settings=Settings(cores=cores, l1=case.l1))
    check = program.check(inputs, outputs)
    if not check.agrees:
        raise SystemExit(f"{case.path} on {cores} cores: {check.first_difference}")
    return check.result.cycles or 0, program.analysis.macs


def main() -> None:
    if not MODELS.is_dir():
        raise SystemExit(f"no networks at {MODELS}: set TILEWRIGHT_NETWORKS to their folder")
    table = Table(title="cycles of one inference")
    for name in ("network", "L1", "8 cores", "MAC/cycle", "1 core", "speed-up", "peer, 8 cores", "ratio"):
        table.add_column(name, justify="left" if name == "network" else "right")
    for case in CASES:
        (many, macs), (one, _) = cycles(case, 8), cycles(case, 1)
        peer = (f"{case.peer:,}", f"{case.peer / many:.1f}x") if case.peer else ("", "")
        l1 = f"{case.l1:,}" if case.l1 else "256 KiB"
        table.add_row(case.name, l1, f"{many:,}", f"{macs / many:.2f}", f"{one:,}", f"{one / many:.2f}x", *peer)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
