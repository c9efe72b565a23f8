"""Epochs over samples on a session: losses, what a held-out set says, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.training.labels import classes_of
from tilewright.training.loop import not_finite, reference
from tilewright.training.samples import Samples
from tilewright.training.session import NotFinite, Session

Told = Callable[[str], None]

NEAR_ZERO = 0.01
"""A loss below is the difference of numbers that are larger: it is held to what this size is held to."""


@dataclass(frozen=True)
class Fitting:
    """What is asked of a run."""

    epochs: int = 1
    accumulate: int = 1
    held_out: int = 0
    """Samples at the end that nothing is learned from."""
    patience: int = 0
    """Epochs without a smaller loss of these after which it ends; 0 for never."""
    seed: int | None = 0
    """Of the order of samples in an epoch; None for their own."""
    checked: int = 8
    """Steps whose losses numpy computes too."""

    def check(self, samples: Samples) -> None:
        words = ("--epochs", self.epochs, 1), ("--accumulate", self.accumulate, 1), ("--patience", self.patience, 0)
        for name, value, least in words:
            if value < least:
                raise CompileError(f"{name} {value}", f"is less than {least}", f"use {least} or more")
        left = samples.count - self.held_out
        if self.held_out < 0 or left < samples.batch:
            what = f"leaves {max(left, 0)} of {samples.count} samples, a step takes {samples.batch}"
            raise CompileError(f"--held-out {self.held_out}", what, "hold out fewer")
        if self.patience and not self.held_out:
            raise CompileError(f"--patience {self.patience}", "there is no held-out set", "add --held-out N")


@dataclass(frozen=True)
class Epoch:
    loss: float
    """The mean of its steps."""
    held_out: float | None
    """The loss of samples that nothing is learned from."""
    accuracy: float | None
    """The share of these whose class is found."""


@dataclass(frozen=True)
class Fitted:
    epochs: tuple[Epoch, ...]
    losses: tuple[float, ...]
    """Of each step."""
    expected: tuple[float, ...]
    """Of the first steps, as numpy computes them."""
    step_cycles: tuple[int, ...]
    stopped: str = ""
    """Why it ended early."""

    def agrees(self, tolerance: float) -> bool:
        """Whether the losses that numpy has computed too are its; of a loss near zero, rounding is all that is left."""
        pairs = zip(self.losses, self.expected, strict=False)
        return all(abs(found - wanted) <= tolerance * max(abs(wanted), NEAR_ZERO) for found, wanted in pairs)

    def as_dict(self) -> dict[str, Any]:
        rows = [vars(epoch) for epoch in self.epochs]
        found: dict[str, Any] = {"epochs": rows, "losses": list(self.losses), "expected_losses": list(self.expected)}
        found |= {"step_cycles": list(self.step_cycles)} if self.step_cycles else {}
        return found | ({"stopped": self.stopped} if self.stopped else {})


def fit(session: Session, samples: Samples, asked: Fitting, told: Told = lambda what: None) -> Fitted:
    asked.check(samples)
    learned_from, held = samples.parted(asked.held_out)
    run, epochs = _Run(session, learned_from, asked), list[Epoch]()
    best, waited, stopped = math.inf, 0, ""
    for number in range(asked.epochs):
        told(f"epoch {number + 1} of {asked.epochs}")
        loss = run.epoch(number)
        epochs.append(Epoch(loss, *(_judged(session, held) if asked.held_out else (None, None))))
        now = epochs[-1].held_out
        if asked.patience and now is not None:
            best, waited = (now, 0) if now < best else (best, waited + 1)
            if waited >= asked.patience:
                stopped = f"the held-out loss has not fallen for {waited} epochs"
                break
    told("computing the reference")
    first = reference(session.learner, run.first, asked.accumulate).losses
    return Fitted(tuple(epochs), tuple(run.losses), first, tuple(run.cycles), stopped)


class _Run:
    def __init__(self, session: Session, samples: Samples, asked: Fitting) -> None:
        self.session, self.samples, self.asked = session, samples, asked
        self.losses: list[float] = []
        self.cycles: list[int] = []
        self.first: list[dict[str, Array]] = []
        """Inputs of the steps that are checked."""

    def epoch(self, number: int) -> float:
        seed, before = self.asked.seed, len(self.losses)
        for chosen in self.samples.batches(None if seed is None else seed + number):
            self._step(self.samples.step(chosen, self.session.learner.training.train))
            if len(self.losses) % self.asked.accumulate == 0:
                self.session.update()
        return float(np.mean(self.losses[before:]))

    def _step(self, inputs: dict[str, Array]) -> None:
        try:
            call = self.session.train(inputs)
        except NotFinite:
            raise not_finite(self.session, inputs, len(self.losses)) from None
        if len(self.first) < self.asked.checked:
            self.first.append(inputs)
        self.losses.append(float(np.asarray(next(iter(call.outputs.values()))).reshape(-1)[0]))
        self.cycles += [] if call.cycles is None else [call.cycles]


def _judged(session: Session, held: Samples) -> tuple[float | None, float | None]:
    """Loss and accuracy, where inference gives scores of classes; the loss, where it gives numbers."""
    training = session.learner.training
    *_, label = training.train.inputs
    is_classes, losses, right = classes_of(training.train) is not None, list[float](), list[float]()
    for chosen in held.batches():
        inputs = held.step(chosen, training.train)
        made = next(iter(session.infer(inputs).outputs.values())).astype(np.float64)
        if not is_classes:
            losses.append(float(np.mean((made - inputs[label].reshape(made.shape)) ** 2)))
            continue
        scores, labels = made.reshape(len(chosen), made.shape[1], -1), inputs[label].reshape(len(chosen), 1, -1)
        shifted = scores - scores.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        losses.append(float(-np.take_along_axis(logs, labels, axis=1).mean()))
        right.append(float((scores.argmax(axis=1) == labels[:, 0]).mean()))
    if not losses:
        return None, None
    return float(np.mean(losses)), float(np.mean(right)) if right else None
