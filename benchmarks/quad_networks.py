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
from benchmarks.verdicts import print_verdicts
from tests.support.networks import label, models, named_or, stored

import tilewright as tw
from tilewright.errors import CompileError
from tilewright.target.settings import Settings

USUAL = [*models("peer/**/*.onnx"), *models("qdq/*/*.onnx")]
DTYPES = {"peer/Kernels/Integer/ReduceMean": {"input_0": "int8"}}
"""Networks whose input no operator proves to be an integer."""


def verdict(path: Path, until: float) -> str:
    """`agrees`, `refused`, `not run` or what is wrong."""
    if time.time() > until:
        return "not run"
    inputs, outputs = stored(path)
    # ONNX Runtime's floats round some elements of quantised networks the other way: our integers are the measure.
    expected = None if label(path).startswith("qdq/") else outputs
    try:
        settings = Settings(time_limit=2.0)
        dtypes = DTYPES.get(label(path), {})
        check = tw.compile(path, target="quad", settings=settings, example_inputs=inputs, dtypes=dtypes).check(
            inputs, expected
        )
    except CompileError as error:
        return f"refused: {str(error).splitlines()[0]}"
    except Exception as error:  # One fault of the compiler must not hide those behind it.
        return f"crashed: {type(error).__name__}: {error}"
    return "agrees" if check.first_difference is None else f"differs: {check.first_difference}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="no network is begun after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    run = partial(verdict, until=time.time() + 60 * options.minutes)
    print_verdicts(named_or(options.models, USUAL), run, options.jobs)


if __name__ == "__main__":
    main()
