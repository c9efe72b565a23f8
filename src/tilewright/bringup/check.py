"""`tilewright accelerator check`: random jobs of every declared pattern through driver and model, against numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tilewright import targets
from tilewright.accelerator.attach import units_of, with_accelerators
from tilewright.accelerator.declaration import Accelerator
from tilewright.accelerator.unit import Unit
from tilewright.bringup.cases import Tried, random_cases, why_untried
from tilewright.errors import CompileError, InternalError
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.run.kernel_bench import Case, DeviceFailure, Measured, measure
from tilewright.target.target import Target

CORES = 4


@dataclass(frozen=True)
class PatternCheck:
    pattern: str
    jobs: int
    """That agree with numpy to the bit."""
    unchecked: str = ""
    """Why there are none."""


@dataclass(frozen=True)
class Trial:
    """Jobs of a unit, and what became of them."""

    unit: Unit
    tried: Sequence[Tried]
    measured: Sequence[Measured]


def check_folder(words: str, target_name: str = "", jobs: int = 12, seed: int = 0) -> list[PatternCheck]:
    """Raises `CompileError` for the first job that goes wrong."""
    trial = run_jobs(words, target_name, jobs, seed)
    raise_wrong(trial)
    stems = dict.fromkeys(tried.driver.stem for tried in trial.tried)
    found = [PatternCheck(stem, sum(tried.driver.stem == stem for tried in trial.tried)) for stem in stems]
    untried = {form.pattern.name: why for form in trial.unit.forms() if (why := why_untried(form))}
    return [*found, *(PatternCheck(name, 0, why) for name, why in untried.items())]


def raise_wrong(trial: Trial) -> None:
    """Where a result is not numpy's."""
    for tried, measured in zip(trial.tried, trial.measured, strict=True):
        _same(trial.unit, tried, measured)


def run_jobs(words: str, target_name: str, jobs: int, seed: int) -> Trial:
    """On the virtual SoC, with everything looked for that the sanitizer finds."""
    target = with_accelerators(targets.find(target_name or targets.first_simulated()), [words])
    (unit,) = units_of(target, [words])
    kernels = {
        kernel.stem: kernel for engine in target.engines if engine.name == unit.name for kernel in engine.kernels
    }
    tried = random_cases(unit, kernels, not target.agents.runtime_waits, jobs, seed)
    return Trial(unit, tried, _measured(unit, tried, target) if tried else [])


def _measured(unit: Unit, tried: Sequence[Tried], target: Target) -> list[Measured]:
    cores = min(CORES, target.agents.cores)
    try:
        return measure([one.case for one in tried], target, cores, checked=True)
    except DeviceFailure as failure:
        one = next(one for one in tried if one.case is failure.case)
        what = f"{failure.where}: {failure.what}\n{_job(one)}\n{_dump(unit.accelerator, failure.registers[unit.name])}"
        raise CompileError(_where(unit, one), what, _advice(failure, unit.device)) from None
    except InternalError as error:
        if "wrote to" not in error.what:
            raise
        raise CompileError(
            f"accelerator {unit.name}", f"{error.what}, which is outside of its operands", _model(unit.device)
        ) from None


def _advice(failure: DeviceFailure, device: Path) -> str:
    """A job that has not ended had a hundred times the declared cycles: more would not help."""
    if "the program has not ended" not in failure.what:
        return failure.hint
    return f"the job does not end: look at {device.name}, and at the cycles that are declared"


def _model(device: Path) -> str:
    return f"look at what {device.name} writes, and at the registers that say where"


def _where(unit: Unit, tried: Tried) -> str:
    return f"accelerator {unit.name}, pattern '{tried.driver.form.pattern.name}'"


def _same(unit: Unit, tried: Tried, measured: Measured) -> None:
    """Integers to the bit, floats within rounding."""
    wanted = np.asarray(tried.case.op.numpy(*tried.case.arrays))
    (found,) = measured.results
    wrong = found != wanted if wanted.dtype != np.float32 else ~np.isclose(found, wanted, 1e-5, 1e-5, equal_nan=True)
    if not wrong.any():
        return
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    what = (
        f"gives {found[at]} at {at}, {wanted[at]} is right; {int(wrong.sum())} of {wanted.size} elements differ\n"
        f"{_job(tried)}\n{_dump(unit.accelerator, measured.registers[unit.name])}"
    )
    raise CompileError(_where(unit, tried), what, _hint(wrong))


def _hint(wrong: Array) -> str:
    if wrong.all():
        return "all elements differ: is the result written to the address in its register?"
    return "compare the model with the operator, and the registers with what the job needs"


def _job(tried: Tried) -> str:
    case: Case = tried.case
    types = ", ".join(f"{name} {kind}" for name, kind in case.types.items())
    return f"    job: {case.op}: {types}"


def _dump(accelerator: Accelerator, values: Sequence[int]) -> str:
    """What was written to or read from each register last."""
    lines: Mapping[str, int] = {one.name: values[one.offset // 4] for one in accelerator.registers}
    return "    registers: " + ", ".join(f"{name} {value:#x}" for name, value in lines.items())
