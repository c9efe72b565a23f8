"""Cycles of whole networks on the virtual Siracusa, beside what a peer publishes or what was measured of it.

    python benchmarks/siracusa_networks.py

Inputs, outputs and constants are in L2; cycles are from the call of the network to its return. Sources of the figures
of the peer (Deeploy) are in docs/measurements.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import ROOT, stored

import tilewright as tw
from tilewright.target.settings import Settings

CLUSTER = ("cluster",)
MODELS = ROOT / "peer" / "Models"


@dataclass(frozen=True)
class Case:
    name: str
    path: str
    l1: int | None
    peer: int | None
    """Cycles on eight cores, where it has some."""
    peer_npu: int | None = None
    """The same with the NPU and its weight memory."""


CASES = (
    Case("language model, 64 tokens at once", "microLlama/INT8/microLlama64_parallel", 64_000, 35_300_000, 28_300_000),
    Case("language model, 64 tokens at once", "microLlama/INT8/microLlama64_parallel", 8_000, 47_500_000),
    Case("language model, one token, 64 cached", "microLlama/INT8/microLlama64", 64_000, 890_000, 780_000),
    Case("image classification (ResNet-8)", "MLPerf/ImageClassification", None, None),
    Case("keyword spotting (DS-CNN)", "MLPerf/KeywordSpotting", None, None),
    Case("small MobileNet", "miniMobileNet", None, None),
    Case("convolutional transformer, integers", "CCT/Int/ICCT", None, None),
)


def cycles(case: Case, cores: int = 8, engines: tuple[str, ...] = (), weight_memory: bool = True) -> tuple[int, int]:
    """Cycles and MACs; ends where the outputs are not those that the network is stored with."""
    path = MODELS / case.path / "network.onnx"
    inputs, outputs = stored(path)
    settings = Settings(cores=cores, l1=case.l1, engines=engines, weight_memory=weight_memory)
    program = tw.compile(path, target="siracusa", example_inputs=inputs, settings=settings)
    check = program.check(inputs, outputs)
    if not check.agrees:
        raise SystemExit(f"{case.path} with {settings}: {check.first_difference}")
    return check.result.cycles or 0, program.analysis.macs


def cluster_row(case: Case) -> tuple[str, ...]:
    (many, macs), (one, _) = cycles(case, 8, CLUSTER), cycles(case, 1, CLUSTER)
    figures = f"{many:,}", f"{macs / many:.2f}", f"{one:,}", f"{one / many:.2f}x"
    return case.name, _tile_array(case), *figures, *_against(case.peer, many)


def npu_row(case: Case) -> tuple[str, ...]:
    (streamed, _), (resident, macs) = cycles(case, weight_memory=False), cycles(case)
    figures = f"{streamed:,}", f"{resident:,}", f"{macs / resident:.2f}"
    return case.name, _tile_array(case), *figures, *_against(case.peer_npu, resident)


def _tile_array(case: Case) -> str:
    return f"{case.l1:,}" if case.l1 else "256 KiB"


def _against(peer: int | None, own: int) -> tuple[str, str]:
    return (f"{peer:,}", f"{peer / own:.1f}x") if peer else ("", "")


def show(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(title=title)
    for name in headings:
        table.add_column(name, justify="left" if name == "network" else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=130).print(table)


def main() -> None:
    if not MODELS.is_dir():
        raise SystemExit(f"no networks at {MODELS}: set TILEWRIGHT_NETWORKS to their folder")
    headings = ("network", "L1", "8 cores", "MAC/cycle", "1 core", "speed-up", "peer, 8 cores", "ratio")
    show("cycles of one inference on the cores", headings, map(cluster_row, CASES))
    headings = ("network", "L1", "weights streamed", "weight memory", "MAC/cycle", "peer", "ratio")
    show("cycles of one inference with the NPU", headings, map(npu_row, CASES))


if __name__ == "__main__":
    main()
