"""Every shared network on Cortex-M55 in QEMU, smallest first: instructions, agreement; what is refused.

python benchmarks/cortex_m55_networks.py [--minutes N] [--jobs N] [--target NAME] [--emulator NAME] [MODEL ...]

The board has 64 MiB of each memory, so that nothing is refused for its size.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.rv32_networks import DTYPES, FLOAT_ENDS, USUAL
from benchmarks.verdicts import print_verdicts
from tests.support.networks import label, named_or, stored

import tilewright as tw
from tilewright.errors import CompileError
from tilewright.target.settings import Settings

LARGE = (("ram", 64 << 20), ("flash", 64 << 20))


def verdict(path: Path, until: float, target: str, settings: Settings) -> str:
    """`agrees` and what it took, `refused`, `not run` or what is wrong."""
    if time.time() > until:
        return "not run"
    try:
        return _ran(path, target, settings)
    except CompileError as error:
        return f"refused: {str(error).splitlines()[0]}"
    except Exception as error:  # One fault of the compiler must not hide those behind it.
        return f"crashed: {type(error).__name__}: {error}"


def _ran(path: Path, target: str, settings: Settings) -> str:
    inputs, outputs = (None, None) if path.suffix == ".tflite" else stored(path)
    # ONNX Runtime's floats round some elements of quantised networks the other way: our integers are the measure.
    expected = None if label(path).startswith(("qdq/", "mlperf_tiny/")) else outputs
    dtypes = DTYPES.get(label(path), {})
    program = tw.compile(path, target=target, settings=settings, example_inputs=inputs, dtypes=dtypes)
    check = program.check(inputs, expected)
    if check.first_difference is not None:
        return f"differs: {check.first_difference}"
    found, instructions = program.profile().profile, check.result.instructions or 0
    ends = sum(layer.instructions or 0 for layer in found.layers if layer.operator in FLOAT_ENDS)
    each = f", {(instructions - ends) / found.macs:.2f} per MAC" if found.macs else ""
    return f"agrees: {instructions:,} instructions, {instructions - ends:,} without floats at the ends{each}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="no network is begun after so long")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--target", default="cortex-m55")
    parser.add_argument("--emulator", default="")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    settings = Settings(memories=LARGE, emulator=options.emulator)
    until = time.time() + 60 * options.minutes
    run = partial(verdict, until=until, target=options.target, settings=settings)
    print_verdicts(named_or(options.models, USUAL), run, options.jobs)


if __name__ == "__main__":
    main()
