"""Networks in processes side by side, the smallest first: a line of what became of each, and how many of which kind."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.support.networks import label, stored

import tilewright as tw
from tilewright.errors import CompileError
from tilewright.program import Program
from tilewright.run.result import Check
from tilewright.target.settings import Settings

Figures = Callable[[Program, Check], str]
"""What a run took, in words."""
DTYPES = {"peer/Kernels/Integer/ReduceMean": {"input_0": "int8"}}
"""Networks whose input no operator proves to be an integer."""


def verdict(path: Path, until: float, target: str, settings: Settings, figures: Figures) -> str:
    """`agrees` and what it took, `refused`, `not run` or what is wrong."""
    if time.time() > until:
        return "not run"
    try:
        return _ran(path, target, settings, figures)
    except CompileError as error:
        return f"refused: {str(error).splitlines()[0]}"
    except Exception as error:  # One fault of the compiler must not hide those behind it.
        return f"crashed: {type(error).__name__}: {error}"


def _ran(path: Path, target: str, settings: Settings, figures: Figures) -> str:
    inputs, outputs = (None, None) if path.suffix == ".tflite" else stored(path)
    # ONNX Runtime's floats round some elements of quantised networks the other way: our integers are the measure.
    expected = None if label(path).startswith(("qdq/", "mlperf_tiny/")) else outputs
    dtypes = DTYPES.get(label(path), {})
    program = tw.compile(path, target=target, settings=settings, example_inputs=inputs, dtypes=dtypes)
    check = program.check(inputs, expected)
    if check.first_difference is not None:
        return f"differs: {check.first_difference}"
    return f"agrees: {figures(program, check)}"


def print_verdicts(paths: Sequence[Path], verdict: Callable[[Path], str], jobs: int) -> None:
    """A verdict is a kind, and behind a colon what there is to say."""
    ordered = sorted(paths, key=_bytes)
    found: Counter[str] = Counter()
    with ProcessPoolExecutor(jobs) as pool:
        for path, text in zip(ordered, pool.map(verdict, ordered), strict=True):
            found[text.partition(":")[0]] += 1
            print(f"{label(path)}: {text}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in found.items()), f"of {len(ordered)}")


def _bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.stem}*") if file.is_file())
