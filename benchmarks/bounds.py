"""What networks take on simulated targets beside what no run can be below, and the gap among the planner's candidates.

    python benchmarks/bounds.py [--targets siracusa,quad] [--predicted] [MODEL ...]

--predicted simulates nothing. A run below its bound is an internal error, which ends the command.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import label, models, named_or, stored

import tilewright as tw
from tilewright.errors import CompileError

USUAL = [*models("peer/**/network.onnx"), *models("qdq/*/int8.onnx")]
TARGETS = "siracusa,quad,snitch,mempool,minpool,itapool,rv32,cortex-m4"


def row(target: str, path: Path, predicted_only: bool) -> str:
    inputs, _ = stored(path)
    try:
        program = tw.compile(path, target=target, example_inputs=inputs)
        analysis = program.analysis
        cycles = 0 if predicted_only else program.run(inputs).cycles or 0
    except CompileError as error:
        return f"{target:<10} {label(path):<44} refused: {str(error.what).splitlines()[0][:60]}"
    taken, least = cycles or analysis.predicted_cycles, analysis.least
    if taken < least.cycles:
        raise SystemExit(f"{target} {label(path)}: {taken:,} cycles, {least}")
    share = least.cycles / taken if taken else 0.0
    return (
        f"{target:<10} {label(path):<44} {analysis.predicted_cycles:>12,} {cycles:>12,} {least.cycles:>12,} "
        f"{share:>6.1%} {analysis.predicted_gap:>6.1%}  {least.limit}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--targets", default=TARGETS)
    parser.add_argument("--predicted", action="store_true")
    options = parser.parse_args()
    heads = f"{'predicted':>12} {'simulated':>12} {'at least':>12} {'part':>6} {'gap':>6}  by"
    print(f"{'target':<10} {'network':<44} {heads}")
    for path in named_or(options.models, USUAL):
        for target in options.targets.split(","):
            print(row(target, path, options.predicted), flush=True)


if __name__ == "__main__":
    main()
