"""States that a step leaves as they are where its loss is no number."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Builder
from tilewright.ir.value import Value
from tilewright.training.growing import Growing

LARGEST = float(np.finfo(np.float32).max)


def is_number(grow: Growing, loss: str) -> Value:
    """Whether the loss is finite: a bool of one element."""
    return grow.value(loss).apply("Abs").reshape(()) <= LARGEST


def guard_states(builder: Builder, loss: str, names: tuple[str, ...]) -> None:
    """Where the loss is no number, these states keep their values: what a running mean has taken in stays in it."""
    if not names:
        return
    grow = Growing(builder, "finite")
    goes_on = is_number(grow, loss)
    for state in (builder.states[name] for name in names):
        kept = goes_on.where(grow.value(state.after), grow.value(state.before))
        builder.set_next_state(state.name, kept.name)
