"""What a loop gave, compared step by step and weight by weight with what is expected of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.arrays import read_npz
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.run.compare import Agreement, compare
from tilewright.training.graphs import Training
from tilewright.training.loop import Trained

LOSS = "loss"
"""The array of losses in a file of expected results."""


@dataclass(frozen=True)
class Expected:
    """What a loop should give."""

    losses: Sequence[float] | None
    weights: Mapping[str, Array]

    @staticmethod
    def of(trained: Trained) -> Expected:
        return Expected(trained.losses, trained.weights)


@dataclass(frozen=True)
class Step:
    """One step, or one weight, beside what was expected."""

    agreement: Agreement
    found: float
    wanted: float


@dataclass(frozen=True)
class Checked:
    """A loop and how it compares."""

    trained: Trained
    steps: tuple[Step, ...]
    """Empty where no losses are expected."""
    weights: tuple[Agreement, ...]
    moved: Mapping[str, float]
    """The largest change of an element of each weight."""

    @property
    def agrees(self) -> bool:
        return all(step.agreement.agrees for step in self.steps) and all(one.agrees for one in self.weights)

    def as_dict(self) -> dict[str, Any]:
        rows = [{**one.as_dict(), "moved": self.moved[one.name]} for one in self.weights]
        found: dict[str, Any] = {"agrees": self.agrees, "losses": list(self.trained.losses)}
        if self.steps:
            found["expected_losses"] = [step.wanted for step in self.steps]
        if self.trained.step_cycles:
            found["step_cycles"] = list(self.trained.step_cycles)
            found["update_cycles"] = list(self.trained.update_cycles)
        return found | {"weights": rows}


def check(training: Training, trained: Trained, expected: Expected, tolerance: float) -> Checked:
    """Each loss relative to its own size, each weight relative to its largest element."""
    steps = tuple(
        Step(_loss(number, found, wanted, tolerance), found, wanted)
        for number, (found, wanted) in enumerate(zip(trained.losses, expected.losses or (), strict=False))
    )
    weights = tuple(
        compare(name, trained.weights[name], wanted, tolerance)
        for name, wanted in expected.weights.items()
        if name in trained.weights
    )
    first = {name: training.states[name].initial for name in trained.weights}
    moved = {name: _largest(array - first[name]) for name, array in trained.weights.items()}
    return Checked(trained, steps, weights, moved)


def _loss(number: int, found: float, wanted: float, tolerance: float) -> Agreement:
    return compare(f"step {number}", np.array([found], np.float32), np.array([wanted], np.float32), tolerance)


def _largest(array: Array) -> float:
    return float(np.abs(array).max()) if array.size else 0.0


def read_expected(path: Path, training: Training, steps: int) -> Expected:
    """Weights by their names, and the losses of all steps."""
    arrays = read_npz(path)
    losses = arrays.get(LOSS)
    known = {name: array for name, array in arrays.items() if name in training.learned}
    if losses is None and not known:
        listed = ", ".join(list(arrays)[:4])
        what = f"has neither '{LOSS}' nor a trained weight, but {listed}"
        raise CompileError(str(path), what, f"name arrays as the weights: {', '.join(training.learned[:3])}")
    if losses is not None and losses.size != steps:
        what = f"has {losses.size} losses, but {steps} steps are made"
        raise CompileError(str(path), what, "is it of the same run?")
    for name, array in known.items():
        if array.shape != training.types[name].shape:
            what = f"weight '{name}' has shape {array.shape}, the network's has {training.types[name].shape}"
            raise CompileError(str(path), what, "is it of the same model?")
    return Expected(None if losses is None else [float(one) for one in losses.reshape(-1)], known)
