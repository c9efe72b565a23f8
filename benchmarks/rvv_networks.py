"""Instructions that networks execute on RISC-V with vectors, under qemu-riscv64: those of vectors apart, and per MAC.

python benchmarks/rvv_networks.py [--cpu NAME] [--bits N] [--rv32] [MODEL ...]

Vector instructions count as one, whatever they do. `--rv32` also counts those of the microcontroller `rv32`, without
vectors, on the virtual SoC. Outputs are held to the reference first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.rvv_counting import Counts, counted
from tests.support.networks import models, named_or

from tilewright.program import Program, compile_model
from tilewright.run.host import emulated
from tilewright.target.settings import Settings

INT8 = ("pretrainedResnet_quant", "vww_96_int8", "kws_ref_model", "ad01_int8")
USUAL = [*(path for name in INT8 for path in models(f"mlperf_tiny/{name}.tflite")), *models("qdq/mbv2_224/*.onnx")]
ARGUMENTS = ("0", "inputs.bin", "outputs.bin")
WITHOUT_VECTORS = "rv32"
LARGE = Settings(memories=(("flash", 1 << 25), ("ram", 1 << 23)))
"""A microcontroller that all of them fit."""


def counts_of(program: Program, emulator: Sequence[str]) -> Counts:
    """Of one call with the inputs of the last run: what two calls take more than one."""
    built = program.build()
    once, twice = (
        counted(emulator, built.folder / "program", [*ARGUMENTS, str(calls), "1"], built.folder) for calls in (1, 2)
    )
    return twice - once


def row(path: Path, options: argparse.Namespace) -> str:
    program = compile_model(path, target="cpu", settings=Settings(cpu=options.cpu))
    check, schedule = program.check(), program.compiled.schedule
    other = emulated(schedule.target)
    assert other is not None, "this machine is one of RISC-V: count by its own counters"
    emulator = list(other.command)
    if options.bits:
        emulator[-1] = f"rv64,v=true,vext_spec=v1.0,vlen={options.bits}"
    found, macs = counts_of(program, emulator), sum(map(program.graph.macs, program.graph.nodes))
    words = [
        f"{path.parent.name + '/' + path.stem:36}", "agrees " if check.agrees else "DIFFERS", f"{found.all:>13,}",
        f"{found.vector:>13,}", f"{found.all / max(macs, 1):6.3f}",
    ]  # fmt: skip
    if options.rv32:
        without = compile_model(path, target=WITHOUT_VECTORS, settings=LARGE).run(program.random_inputs()).instructions
        words += [f"{without:>13,}", f"{found.all / max(without or 0, 1):6.3f}"]
    return "  ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", default="spacemit-x60")
    parser.add_argument("--bits", type=int, default=0, help="of a vector register; those that code is for if not given")
    parser.add_argument("--rv32", action="store_true")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    print("network, agreement, instructions, of them vector, per MAC" + ", of rv32, to rv32" * options.rv32)
    for path in named_or(options.models, USUAL):
        print(row(path, options), flush=True)


if __name__ == "__main__":
    main()
