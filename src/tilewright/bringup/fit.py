"""`tilewright calibrate --accelerator`: the declared cost of jobs, held to what the model takes on the virtual SoC."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tilewright import targets
from tilewright.accelerator.folder import beside_model, read_folder
from tilewright.accelerator.kernels import Requantisation, requantisation
from tilewright.accelerator.unit import ANY, Costs, Unit
from tilewright.bringup.check import CORES, Trial, run_jobs
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.target.fitting import fit as least_squares

JOBS = 60
"""Of each pattern: a few for every way to requantise."""


@dataclass(frozen=True)
class Fit:
    costs: Costs
    error: float
    """Median over all jobs, of device and cores together."""
    device_error: float
    """Median over all jobs, of the device alone."""
    jobs: int
    declared_error: float
    """The same of what is declared, without a scale."""


@dataclass(frozen=True)
class _Observed:
    """A job."""

    declared: float
    """Cycles of the device as the declaration says."""
    device: float
    rest: float
    """Cycles of the cores."""
    jobs: int
    """Of the device."""
    requantised: Requantisation | None

    def features(self, ways: Sequence[str]) -> list[float]:
        """Jobs, runs of results with the same factors, and results by way."""
        if self.requantised is None:
            return [self.jobs, 0.0, *(0.0 for _ in ways)]
        work = self.requantised
        return [self.jobs, work.channels, *(work.results * (work.way == way) for way in ways)]


def fit(words: str, target: str = "", jobs: int = JOBS, seed: int = 1) -> tuple[Unit, Fit]:
    trial = run_jobs(words, target, jobs, seed)
    if not trial.tried:
        kinds = ", ".join(dict.fromkeys(pattern.op for pattern in trial.unit.accelerator.patterns))
        raise CompileError(
            f"accelerator {trial.unit.name}", f"cannot be measured: there are no random layers of {kinds}",
            "write costs.json by hand: docs/accelerators.md says what is in it",
        )  # fmt: skip
    seen = _observed(trial)
    declared, device = (np.array(column) for column in zip(*((one.declared, one.device) for one in seen), strict=True))
    # Jobs of no declared time say nothing of the scale.
    scale = float(declared @ device / (declared @ declared)) if declared.any() else 1.0
    costs, rest = _fitted(seen)
    total = device + np.array([one.rest for one in seen])
    error = float(np.median(abs(scale * declared + rest - total) / total))
    off, before = (float(np.median(abs(by * declared - device) / np.maximum(device, 1))) for by in (scale, 1.0))
    return trial.unit, Fit(replace(costs, scale=round(scale, 4)), error, off, len(seen), before)


def target_or_first(name: str) -> str:
    return name or targets.first_simulated()


def fit_to_rtl(words: str, target: str, jobs: int = JOBS) -> tuple[Unit, Fit]:
    """The declared cycles, held to the Verilog of the folder."""
    found = read_folder(words)
    if found.rtl is None and not beside_model(words):
        raise CompileError(
            words, "has no Verilog to be fitted to", "docs/rtl.md; `tilewright calibrate` fits to a model"
        )
    return fit(words if found.rtl is not None else beside_model(words), target, jobs)


def _fitted(seen: Sequence[_Observed]) -> tuple[Costs, Array]:
    """Cycles of a core, with every job's relative error as heavy as another's; and what they say of these jobs."""
    ways = sorted({one.requantised.way for one in seen if one.requantised})
    features = [one.features(ways) for one in seen]
    found = least_squares(features, [one.rest for one in seen])
    submit, channel, *finish = found
    by_way = {way: round(value, 2) for way, value in zip(ways, finish, strict=True)}
    usual = round(float(np.median(finish)), 2) if finish else 0.0
    costs = Costs(submit=round(submit, 1), channel=round(channel, 1), finish={**by_way, ANY: usual})
    return costs, np.array(features) @ np.array(found)


def _observed(trial: Trial) -> list[_Observed]:
    rows = []
    for one, measured in zip(trial.tried, trial.measured, strict=True):
        op, types, form = one.case.op, one.case.types, one.driver.form
        # Two calls were made, of which the second is counted.
        busy = measured.busy[trial.unit.name] / 2
        cores = 1 if one.driver.waits else CORES
        work = requantisation(op, types, cores) if form.gives_totals else None
        rest = measured.cycles - busy
        rows.append(_Observed(form.cycles(op, types), busy, rest, form.job_count(op, types), work))
    return rows


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
