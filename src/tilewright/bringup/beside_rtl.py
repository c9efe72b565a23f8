"""A model and the Verilog beside it: the same random jobs on both, values and cycles compared."""

from __future__ import annotations

import numpy as np

from tilewright.accelerator.folder import beside_model
from tilewright.bringup.check import Trial, raise_wrong, run_jobs
from tilewright.ir.types import Array
from tilewright.records import dataclass


@dataclass(frozen=True)
class BesideRtl:
    """How far the model's cycles are from those of the Verilog, relative to these."""

    jobs: int
    median: float
    worst: float
    pattern: str
    """Of the worst job."""


def check_beside_rtl(words: str, target: str = "", jobs: int = 12, seed: int = 0) -> BesideRtl | None:
    """None where there is only one of them. Raises `CompileError` for the first job whose values are wrong."""
    other = beside_model(words)
    if not other:
        return None
    model, rtl = run_jobs(words, target, jobs, seed), run_jobs(other, target, jobs, seed)
    raise_wrong(rtl)
    if not rtl.tried:
        return None
    taken, wanted = _busy(model), _busy(rtl)
    off = np.abs(taken - wanted) / np.maximum(wanted, 1)
    return BesideRtl(len(off), float(np.median(off)), float(off.max()), rtl.tried[int(off.argmax())].driver.stem)


def _busy(trial: Trial) -> Array:
    """Cycles of the device, job by job."""
    return np.array([measured.busy[trial.unit.name] for measured in trial.measured], np.float64)
