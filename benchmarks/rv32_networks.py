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
from benchmarks.verdicts import print_verdicts
from tests.support.networks import label, models, named_or, stored

import tilewright as tw
from tilewright.cli.options import numbers
from tilewright.errors import CompileError
from tilewright.program import Program
from tilewright.target.settings import Settings

INT8 = ("pretrainedResnet_quant", "vww_96_int8", "kws_ref_model", "ad01_int8")
USUAL = [
    *models("peer/**/*.onnx"), *models("qdq/*/*.onnx"),
    *(path for name in INT8 for path in models(f"mlperf_tiny/{name}.tflite")),
]  # fmt: skip
DTYPES = {"peer/Kernels/Integer/ReduceMean": {"input_0": "int8"}}
"""Networks whose input no operator proves to be an integer."""
FLOAT_ENDS = frozenset({"QuantizeLinear", "DequantizeLinear", "Quant", "Dequant"})


def verdict(path: Path, until: float, settings: Settings) -> str:
    """`agrees` and what it took, `refused`, `not run` or what is wrong."""
    if time.time() > until:
        return "not run"
    try:
        return _ran(path, settings)
    except CompileError as error:
        return f"refused: {str(error).splitlines()[0]}"
    except Exception as error:  # One fault of the compiler must not hide those behind it.
        return f"crashed: {type(error).__name__}: {error}"


def _ran(path: Path, settings: Settings) -> str:
    inputs, outputs = (None, None) if path.suffix == ".tflite" else stored(path)
    # ONNX Runtime's floats round some elements of quantised networks the other way: our integers are the measure.
    expected = None if label(path).startswith(("qdq/", "mlperf_tiny/")) else outputs
    dtypes = DTYPES.get(label(path), {})
    program = tw.compile(path, target="rv32", settings=settings, example_inputs=inputs, dtypes=dtypes)
    check = program.check(inputs, expected)
    if check.first_difference is not None:
        return f"differs: {check.first_difference}"
    return f"agrees: {_figures(program, check.result.instructions or 0, check.result.cycles or 0)}"


def _figures(program: Program, instructions: int, cycles: int) -> str:
    found = program.profile().profile
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
    run = partial(verdict, until=time.time() + 60 * options.minutes, settings=settings)
    print_verdicts(named_or(options.models, USUAL), run, options.jobs)


if __name__ == "__main__":
    main()
