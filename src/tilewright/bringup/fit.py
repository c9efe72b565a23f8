"""`tilewright calibrate --accelerator`: the declared cost of jobs, held to what the model takes on the virtual SoC."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np

from tilewright.accelerator.unit import Unit
from tilewright.bringup.check import Trial, run_jobs

JOBS = 24


@dataclass(frozen=True)
class Fit:
    """Cycles of the device for each declared one, and of the core for each job."""

    scale: float
    submit: float
    error: float
    """Median over all jobs, of device and core together."""
    device_error: float
    jobs: int

    def costs(self) -> dict[str, float]:
        return {"scale": round(self.scale, 4), "submit": round(self.submit, 1)}


def fit(words: str, target: str = "quad", jobs: int = JOBS, seed: int = 1) -> tuple[Unit, Fit]:
    trial = run_jobs(words, target, jobs, seed)
    declared, device, core, counts = _observed(trial)
    # Jobs of no declared time say nothing of the scale.
    scale = float(declared @ device / (declared @ declared)) if declared.any() else 1.0
    submit = float(np.median(core / counts))
    total = device + core
    predicted = scale * declared + submit * counts
    error = statistics.median(abs(predicted - total) / total)
    off = statistics.median(abs(scale * declared - device) / np.maximum(device, 1))
    return trial.unit, Fit(scale, submit, error, off, len(total))


def _observed(trial: Trial) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of jobs whose results the device makes alone: declared cycles, the device's, the core's, and how many."""
    rows = []
    alone = any(not one.driver.form.gives_totals for one in trial.tried)
    for one, measured in zip(trial.tried, trial.measured, strict=True):
        if alone and one.driver.form.gives_totals:
            continue
        types, form = one.case.types, one.driver.form
        # Two calls were made, of which the second is counted.
        busy = measured.busy[trial.unit.name] / 2
        rows.append((form.cycles(one.case.op, types), busy, measured.cycles - busy, form.job_count(one.case.op, types)))
    return tuple(np.array(column, float) for column in zip(*rows, strict=True))  # type: ignore[return-value]
