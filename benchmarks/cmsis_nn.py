"""MLPerf Tiny's int8 networks with Tilewright's kernels and with CMSIS-NN's, by the same estimate: cycles, RAM, flash.

python benchmarks/cmsis_nn.py PATH_OF_CMSIS_NN [--target NAME ...] [--network NAME ...] [--gcc]

With --gcc, programs are exported for CMake and built with arm-none-eabi-gcc, which makes other code than clang does.

Memories have no wait states. RAM is the arena with inputs and outputs, flash constants and the code of the program.
CMSIS-NN has channels last throughout, as it wants them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import models

import tilewright as tw
from tilewright.program import Program
from tilewright.run.simulated import MAX_CYCLES, CallMeter
from tilewright.sim.program.elf import code_bytes

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


def figures(model: Path, target: str, folders: tuple[str, ...], gcc: bool) -> Figures:
    program = tw.compile(model, target=target, name="net", kernels=folders)
    check = program.check()
    if check.first_difference is not None:
        raise SystemExit(f"{model.stem} on {target} differs: {check.first_difference}")
    calls = program.compiled.schedule.layers
    own = sum(call.engine == ADAPTER.name for call in calls)
    memory, done = check.memory, check.result.soc
    cycles, code = by_gcc(program) if gcc else (check.result.cycles or 0, done.code_bytes if done else 0)
    return Figures(cycles, memory["planned_ram_bytes"], code + memory["constant_bytes"], f"{own} of {len(calls)}")


def by_gcc(program: Program) -> tuple[int, int]:
    """Cycles of a call, and bytes of code, of the exported application."""
    with tempfile.TemporaryDirectory() as folder:
        program.export(Path(folder) / "net", "cmake")
        toolchain = ["--toolchain", "cmake/arm-none-eabi-gcc.cmake"]
        for words in (["-S", "net", "-B", "build", *toolchain], ["--build", "build"]):
            subprocess.run(["cmake", *words], cwd=folder, check=True, capture_output=True)
        with program.compiled.schedule.target.machine() as machine:
            elf = machine.load(Path(folder) / "build" / "net_app.elf")
            call = CallMeter.of(elf, "net_run")
            machine.probe((), metered=call.places)
            machine.run(MAX_CYCLES)
            before, after = call.around(machine.probes())
            if "as expected" not in machine.stdout or "NOT" in machine.stdout:
                raise SystemExit(f"{program.graph.name}: {machine.stdout}")
            return after.since(before).counts["cycles"], code_bytes(elf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--target", nargs="+", default=TARGETS)
    parser.add_argument("--network", nargs="+", default=list(NETWORKS))
    parser.add_argument("--gcc", action="store_true")
    options = parser.parse_args()
    print("| target | network | layers | cycles: CMSIS-NN | ours | ratio | RAM | ours | flash | ours |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for target in options.target:
        for name in options.network:
            (model,) = models(f"mlperf_tiny/{NETWORKS[name]}.tflite")
            theirs = figures(model, target, (f"{ADAPTER}:path={options.path}",), options.gcc)
            ours = figures(model, target, (), options.gcc)
            print(
                f"| {target} | {name} | {theirs.layers} | {theirs.cycles:,} | {ours.cycles:,} "
                f"| {ours.cycles / theirs.cycles:.2f} | {theirs.ram:,} | {ours.ram:,} "
                f"| {theirs.flash:,} | {ours.flash:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
