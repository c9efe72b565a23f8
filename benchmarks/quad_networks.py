"""Every shared network on the small cluster `quad`, smallest first: what agrees, what is refused and why.

python benchmarks/quad_networks.py [--minutes N] [--jobs N] [MODEL ...]
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

from tilewright.program import Program
from tilewright.run.result import Check
from tilewright.target.settings import Settings

USUAL = [
    found
    for pattern in ("peer/**/*.onnx", "qdq/*/*.onnx", "mlperf_tiny/*.tflite", "tflite_streaming/*.tflite")
    for found in models(pattern)
]


def _figures(program: Program, check: Check) -> str:
    return f"{check.result.cycles or 0:,} cycles"


def main(target: str, about: str) -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="no network is begun after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--target", default=target, help="that they are compiled for")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    until, settings = time.time() + 60 * options.minutes, Settings(time_limit=2.0)
    run = partial(verdict, until=until, target=options.target, settings=settings, figures=_figures)
    print_verdicts(named_or(options.models, USUAL), run, options.jobs)


if __name__ == "__main__":
    main("quad", __doc__)
