"""The zoo on targets: MMAC, cycles, MAC/cycle, the layer with the most cycles, and whether results agree.

    python -m benchmarks.quantised_zoo [--targets NAME ...] [--networks TEXT ...] [--run] [--kernels] [--folder FOLDER]

Cycles are those that `analyze` predicts, or with `--run` those of the simulator or emulator, which also says whether
results agree. `--networks` takes those whose names contain one of the texts. The quantised networks are kept in a
folder, so that they are made once. `--kernels` also prints the cycles of each kernel.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
from benchmarks.quantised_zoo.networks import NETWORKS, quantised
from rich.console import Console
from rich.table import Table

import tilewright as tw
from tilewright import pipeline
from tilewright.analysis.costs import analysis_of
from tilewright.errors import CompileError

TARGETS = ("siracusa", "snitch", "cortex-m4", "cortex-m7", "cortex-m55", "rv32")
HEADINGS = ("network", "MMAC", "cycles", "MAC/cycle", "most cycles", "share", "results")


@dataclass(frozen=True)
class Layer:
    name: str
    kernel: str
    cycles: int


@dataclass(frozen=True)
class Figures:
    macs: int
    cycles: int
    layers: tuple[Layer, ...]
    results: str

    @property
    def rate(self) -> float:
        """0 where nothing predicts cycles, as on a target that counts instructions."""
        return self.macs / self.cycles if self.cycles else 0.0

    def row(self, network: str) -> tuple[str, ...]:
        if not self.cycles:
            return network, f"{self.macs / 1e6:.1f}", *[""] * 4, "nothing predicts its cycles: --run"
        worst = max(self.layers, key=lambda layer: layer.cycles)
        share = f"{worst.cycles / self.cycles:.0%}"
        figures = f"{self.macs / 1e6:.1f}", f"{self.cycles:,}", f"{self.rate:.2f}"
        return network, *figures, f"{worst.kernel}: {worst.name}", share, self.results


def predicted(path: Path, target: str) -> Figures:
    schedule = pipeline.stage(pipeline.import_model(path), target, "schedule")
    cycles = schedule.placed.layer_cycles
    layers = tuple(
        Layer(layer.node.name, layer.kernel.stem, cycles.get(layer.node.key, 0)) for layer in schedule.layers
    )
    return Figures(analysis_of(schedule).macs, schedule.placed.predicted, layers, "predicted")


def measured(path: Path, target: str) -> Figures:
    program = tw.compile(path, target=target)
    inputs = program.random_inputs()
    check, profile = program.check(inputs), program.profile(inputs).profile
    layers = tuple(Layer(layer.name, layer.kernel, layer.cycles) for layer in profile.layers)
    verdict = "agree" if check.agrees else f"differ: {check.first_difference}"
    return Figures(program.analysis.macs, check.result.cycles or 0, layers, verdict)


def show(target: str, names: list[str], folder: Path, run: bool, kernels: bool) -> None:
    table = Table(title=f"{target}, cycles {'measured' if run else 'predicted'}")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in HEADINGS[1:4] else "left")
    rates: list[float] = []
    sums: Counter[str] = Counter()
    for name in names:
        try:
            figures = (measured if run else predicted)(quantised(name, folder), target)
        except CompileError as error:
            table.add_row(name, *[""] * 5, f"refused: {str(error).splitlines()[0]}")
            continue
        rates += [figures.rate] if figures.cycles else []
        table.add_row(*figures.row(name))
        for layer in figures.layers:
            sums[layer.kernel] += layer.cycles
        print(f"{target}: {name}: {figures.cycles:,}", file=sys.stderr, flush=True)
    console = Console(width=160)
    console.print(table)
    if rates:
        middle = statistics.median(rates)
        console.print(f"MAC/cycle: median {middle:.2f}, least {min(rates):.2f} (1/{middle / min(rates):.1f} of it)")
    for kernel, cycles in sums.most_common() if kernels else ():
        console.print(f"  {cycles:>12,} {cycles / sums.total():>6.1%}  {kernel}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), metavar="NAME")
    parser.add_argument("--networks", nargs="+", default=[""], metavar="TEXT")
    parser.add_argument("--run", action="store_true", help="on the simulator or emulator")
    parser.add_argument("--kernels", action="store_true", help="print the cycles of each kernel too")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "tilewright_zoo")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in NETWORKS if any(text.lower() in name.lower() for text in options.networks)]
    for target in options.targets:
        show(target, names, options.folder, options.run, options.kernels)


if __name__ == "__main__":
    main()
