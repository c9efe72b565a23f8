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
from benchmarks.rv32_networks import FLOAT_ENDS, USUAL
from benchmarks.verdicts import print_verdicts, verdict
from tests.support.networks import named_or

from tilewright.program import Program
from tilewright.run.result import Check
from tilewright.target.settings import Settings

LARGE = (("ram", 64 << 20), ("flash", 64 << 20))


def _figures(program: Program, check: Check) -> str:
    found, instructions = program.profile().profile, check.result.instructions or 0
    ends = sum(layer.instructions or 0 for layer in found.layers if layer.operator in FLOAT_ENDS)
    each = f", {(instructions - ends) / found.macs:.2f} per MAC" if found.macs else ""
    return f"{instructions:,} instructions, {instructions - ends:,} without floats at the ends{each}"


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
    run = partial(verdict, until=until, target=options.target, settings=settings, figures=_figures)
    print_verdicts(named_or(options.models, USUAL), run, options.jobs)


if __name__ == "__main__":
    main()
