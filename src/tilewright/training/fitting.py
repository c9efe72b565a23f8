"""Epochs over samples on a session: losses, the best weights, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.training.loop import not_finite, reference
from tilewright.training.samples import Samples
from tilewright.training.session import NotFinite, Session

Told = Callable[[str], None]
Judge = Callable[[Mapping[str, Array]], tuple[float, float | None]]
"""The loss of what is held out with these weights, and the share of it whose class is found."""

NEAR_ZERO = 0.01
"""A loss below is the difference of numbers that are larger: it is held to what this size is held to."""


@dataclass(frozen=True)
class Fitting:
    """What is asked of a run."""

    epochs: int = 1
    accumulate: int = 1
    patience: int = 0
    """Epochs without a smaller loss of what is held out after which it ends; 0 for never."""
    seed: int | None = 0
    """Of the order of samples in an epoch; None for their own."""
    checked: int = 8
    """Steps whose losses numpy computes too."""
    dashes: str = ""
    """What stands before these words where they are options."""

    def check(self, is_held_out: bool) -> None:
        words = ("epochs", self.epochs, 1), ("accumulate", self.accumulate, 1), ("patience", self.patience, 0)
        for name, value, least in words:
            if value < least:
                raise CompileError(f"{self.dashes}{name} {value}", f"is less than {least}", f"use {least} or more")
        if self.patience and not is_held_out:
            hint = f"add {self.dashes}held{'-out N' if self.dashes else '_out=(samples, labels)'}"
            raise CompileError(f"{self.dashes}patience {self.patience}", "there is no held-out set", hint)


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
    """What a fit has learned."""

    epochs: tuple[Epoch, ...]
    losses: tuple[float, ...]
    """Of each step."""
    expected: tuple[float, ...]
    """Of the first steps, as numpy computes them."""
    step_cycles: tuple[int, ...]
    weights: Mapping[str, Array]
    """Those behind the epoch with the smallest loss of what is held out; without that, the last ones."""
    stopped: str = ""
    """Why it ended early."""

    @property
    def held_out(self) -> tuple[float, ...]:
        """The mean loss of what is held out, behind each epoch."""
        return tuple(epoch.held_out for epoch in self.epochs if epoch.held_out is not None)

    @property
    def best(self) -> int:
        """The number of the epoch whose weights these are, from 0 on."""
        return self.held_out.index(min(self.held_out)) if self.held_out else len(self.epochs) - 1

    def agrees(self, tolerance: float) -> bool:
        """Whether the losses that numpy has computed too are its; of a loss near zero, rounding is all that is left."""
        pairs = zip(self.losses, self.expected, strict=False)
        return all(abs(found - wanted) <= tolerance * max(abs(wanted), NEAR_ZERO) for found, wanted in pairs)

    def as_dict(self) -> dict[str, Any]:
        rows = [vars(epoch) for epoch in self.epochs]
        found: dict[str, Any] = {"epochs": rows, "losses": list(self.losses), "expected_losses": list(self.expected)}
        found |= {"step_cycles": list(self.step_cycles)} if self.step_cycles else {}
        found |= {"best_epoch": self.best + 1} if self.held_out else {}
        return found | ({"stopped": self.stopped} if self.stopped else {})


def fit(
    session: Session, samples: Samples, asked: Fitting, judge: Judge | None = None, told: Told = lambda what: None
) -> Fitted:
    """Epochs over samples; with `judge` the weights behind the best epoch are given, otherwise the last ones."""
    asked.check(judge is not None)
    run, epochs = _Run(session, samples, asked), list[Epoch]()
    weights, best, waited, stopped = session.weights(), math.inf, 0, ""
    for number in range(asked.epochs):
        told(f"epoch {number + 1} of {asked.epochs}")
        loss, now = run.epoch(number), session.weights()
        held_out, accuracy = judge(now) if judge else (None, None)
        if held_out is not None and not math.isfinite(held_out):
            what = f"the loss of the held-out samples is {held_out}, which is no finite number"
            raise CompileError(f"epoch {number + 1}", what, "look at these samples, or use a smaller rate")
        epochs.append(Epoch(loss, held_out, accuracy))
        if held_out is None or held_out < best or number == 0:
            weights, best, waited = now, math.inf if held_out is None else held_out, 0
            continue
        waited += 1
        if asked.patience and waited >= asked.patience:
            stopped = f"the held-out loss has not fallen for {waited} epochs"
            break
    told("computing the reference")
    first = reference(session.learner, run.first, asked.accumulate).losses
    return Fitted(tuple(epochs), tuple(run.losses), first, tuple(run.cycles), weights, stopped)


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
