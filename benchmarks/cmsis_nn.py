"""MLPerf Tiny's int8 networks with Tilewright's kernels and with CMSIS-NN's, by the same estimate: cycles, RAM, flash.

python benchmarks/cmsis_nn.py PATH_OF_CMSIS_NN [--target NAME ...] [--network NAME ...]

Memories have no wait states. RAM is the arena with inputs and outputs, flash constants and the code of the program.
CMSIS-NN has channels last throughout, as it wants them.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import models

import tilewright as tw

ADAPTER = Path(__file__).parents[1] / "examples" / "cmsis_nn"
NETWORKS = {"ic": "pretrainedResnet_quant", "kws": "kws_ref_model", "vww": "vww_96_int8", "ad": "ad01_int8"}
TARGETS = ("cortex-m4", "cortex-m33", "cortex-m0plus")


@dataclass(frozen=True)
class Figures:
    cycles: int
    ram: int
    flash: int
    layers: str
    """How many of the layers CMSIS-NN has."""


def figures(model: Path, target: str, folders: tuple[str, ...]) -> Figures:
    program = tw.compile(model, target=target, kernels=folders)
    check = program.check()
    if check.first_difference is not None:
        raise SystemExit(f"{model.stem} on {target} differs: {check.first_difference}")
    calls = program.compiled.schedule.calls
    own = sum(call.engine == ADAPTER.name for call in calls)
    memory, done = check.memory, check.result.soc
    assert done is not None
    return Figures(
        check.result.cycles or 0,
        memory["peak_ram_bytes"],
        done.code_bytes + memory["flash_bytes"],
        f"{own} of {len(calls)}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--target", nargs="+", default=TARGETS)
    parser.add_argument("--network", nargs="+", default=list(NETWORKS))
    options = parser.parse_args()
    print("| target | network | layers | cycles: CMSIS-NN | ours | ratio | RAM | ours | flash | ours |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for target in options.target:
        for name in options.network:
            (model,) = models(f"mlperf_tiny/{NETWORKS[name]}.tflite")
            theirs = figures(model, target, (f"{ADAPTER}:path={options.path}",))
            ours = figures(model, target, ())
            print(
                f"| {target} | {name} | {theirs.layers} | {theirs.cycles:,} | {ours.cycles:,} "
                f"| {ours.cycles / theirs.cycles:.2f} | {theirs.ram:,} | {ours.ram:,} "
                f"| {theirs.flash:,} | {ours.flash:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
