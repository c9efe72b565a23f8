"""Every shared network on the microcontroller `rv32`, smallest first: instructions, cycles, agreement; what is refused.

python benchmarks/rv32_networks.py [--minutes N] [--jobs N] [--isa NAME] [--memory NAME=BYTES] [MODEL ...]

`integers` are the instructions without floats at the ends: QuantizeLinear and DequantizeLinear.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.verdicts import print_verdicts, verdict
from tests.support.networks import models, named_or

from tilewright.cli.options import numbers
from tilewright.program import Program
from tilewright.run.result import Check
from tilewright.target.settings import Settings

INT8 = ("pretrainedResnet_quant", "vww_96_int8", "kws_ref_model", "ad01_int8")
USUAL = [
    *models("peer/**/*.onnx"), *models("qdq/*/*.onnx"),
    *(path for name in INT8 for path in models(f"mlperf_tiny/{name}.tflite")),
]  # fmt: skip
FLOAT_ENDS = frozenset({"QuantizeLinear", "DequantizeLinear", "Quant", "Dequant"})


def _figures(program: Program, check: Check) -> str:
    found = program.profile().profile
    instructions, cycles = check.result.instructions or 0, check.result.cycles or 0
    ends = sum(layer.instructions or 0 for layer in found.layers if layer.operator in FLOAT_ENDS)
    each = f", {(instructions - ends) / found.macs:.2f} instructions per MAC" if found.macs else ""
    off = f"predicted {found.predicted / found.cycles - 1:+.0%}, layers {found.median_error:.0%}"
    return f"{instructions:,} instructions, {instructions - ends:,} integers, {cycles:,} cycles ({off}){each}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="no network is begun after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--isa", default="")
    parser.add_argument("--memory", action="append", default=[])
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    settings = Settings(isa=options.isa, memories=tuple(numbers("--memory", options.memory).items()))
    until = time.time() + 60 * options.minutes
    run = partial(verdict, until=until, target="rv32", settings=settings, figures=_figures)
    print_verdicts(named_or(options.models, USUAL), run, options.jobs)


if __name__ == "__main__":
    main()
