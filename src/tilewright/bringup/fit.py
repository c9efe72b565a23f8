"""`tilewright calibrate --accelerator`: the declared cost of jobs, held to what the model takes on the virtual SoC."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.accelerator.unit import Costs, Unit
from tilewright.bringup.check import CORES, Trial, run_jobs
from tilewright.errors import CompileError
from tilewright.ir.types import Array

JOBS = 24


@dataclass(frozen=True)
class Fit:
    costs: Costs
    error: float
    """Median over all jobs, of device and cores together."""
    device_error: float
    """The same of the device alone."""
    jobs: int


@dataclass(frozen=True)
class _Observed:
    """Of jobs, each an element of every array."""

    declared: Array
    """Cycles of the device as the declaration says."""
    device: Array
    rest: Array
    """Cycles of the cores."""
    jobs: Array
    results: Array
    """For each core to requantise."""


def fit(words: str, target: str = "", jobs: int = JOBS, seed: int = 1) -> tuple[Unit, Fit]:
    trial = run_jobs(words, target, jobs, seed)
    if not trial.tried:
        kinds = ", ".join(dict.fromkeys(pattern.op for pattern in trial.unit.accelerator.patterns))
        raise CompileError(
            f"accelerator {trial.unit.name}", f"cannot be measured: there are no random layers of {kinds}",
            "write costs.json by hand: docs/accelerators.md says what is in it",
        )  # fmt: skip
    seen = _observed(trial)
    # Jobs of no declared time say nothing of the scale.
    scale = float(seen.declared @ seen.device / (seen.declared @ seen.declared)) if seen.declared.any() else 1.0
    submit, finish = _fitted(seen)
    total = seen.device + seen.rest
    predicted = scale * seen.declared + submit * seen.jobs + finish * seen.results
    error = float(np.median(abs(predicted - total) / total))
    off = float(np.median(abs(scale * seen.declared - seen.device) / np.maximum(seen.device, 1)))
    costs = Costs(round(scale, 4), round(submit, 1), round(finish, 2))
    return trial.unit, Fit(costs, error, off, len(total))


def _fitted(seen: _Observed) -> tuple[float, float]:
    """Cycles of a core for each job and for each result, with every job's relative error as heavy as another's."""
    columns = np.stack([seen.jobs, seen.results], axis=1) / seen.rest[:, None]
    used = columns.any(axis=0)
    found = np.zeros(2)
    found[used] = np.linalg.lstsq(columns[:, used], np.ones(len(columns)), rcond=None)[0]
    return float(found[0]), float(found[1])


def _observed(trial: Trial) -> _Observed:
    rows = []
    for one, measured in zip(trial.tried, trial.measured, strict=True):
        types, form = one.case.types, one.driver.form
        # Two calls were made, of which the second is counted.
        busy = measured.busy[trial.unit.name] / 2
        cores = 1 if one.driver.waits else CORES
        results = types["Y"].elements / cores if form.gives_totals else 0
        count = form.job_count(one.case.op, types)
        rows.append((form.cycles(one.case.op, types), busy, measured.cycles - busy, count, results))
    return _Observed(*(np.array(column, float) for column in zip(*rows, strict=True)))


def write_costs(path: Path, target: str, costs: Costs) -> None:
    """Into the file beside the declaration, whatever it says of other targets; whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        known = json.loads(path.read_text()) if path.is_file() else {}
        draft.write_text(json.dumps({**known, target: dataclasses.asdict(costs)}, indent=2) + "\n")
        os.replace(draft, path)
    except (OSError, ValueError, TypeError) as error:
        raise CompileError(str(path), f"cannot be written: {error}", "choose another -o, or delete it") from None
    finally:
        draft.unlink(missing_ok=True)
