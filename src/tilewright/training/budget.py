"""A training that keeps to so many bytes of RAM: planned again with fewer activations kept, until it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.errors import CompileError
from tilewright.training.compiling import Learner
from tilewright.training.graphs import Training
from tilewright.training.plan import largest_layer, ram_of
from tilewright.training.recompute import Activation, Choice, Recomputing

PLANS = 6
"""That are tried at most: each is a plan of the whole step."""
Compile = Callable[[Training], Learner]


@dataclass(frozen=True)
class Within:
    """What fits."""

    learner: Learner
    said: str
    """What is computed again; empty where nothing is."""
    activations: tuple[Activation, ...] = ()
    """Those that the way back reads, kept or computed again."""


def within(training: Training, ram: int | None, compile_: Compile) -> Within:
    """The training, compiled; with a budget, the one that computes least again and keeps to it.

    What estimates say of choices is ordered as what plans take of them is, so that the first one that fits is found by
    halving.
    """
    whole = compile_(training)
    known = Recomputing(training.train)
    if ram is None or ram_of(whole) <= ram:
        return Within(whole, "", known.activations(frozenset()))
    choices = known.choices()
    fewest = _compiled(training, known, choices[-1], compile_)
    if ram_of(fewest) > ram:
        fewest = min(whole, fewest, key=ram_of)
        raise _too_little(training, whole, fewest, ram)
    return _least_work(training, known, choices, ram, compile_, fewest)


def _least_work(
    training: Training, known: Recomputing, choices: Sequence[Choice], ram: int, compile_: Compile, fewest: Learner
) -> Within:
    """Between all that is kept, which is too much, and the least."""
    found, best, low, high = fewest, len(choices) - 1, 0, len(choices) - 1
    for _ in range(PLANS):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        tried = _compiled(training, known, choices[middle], compile_)
        if ram_of(tried) <= ram:
            found, best, high = tried, middle, middle
        else:
            low = middle
    return Within(found, _said(known, choices[best]), known.activations(choices[best].again))


def _compiled(training: Training, known: Recomputing, choice: Choice, compile_: Compile) -> Learner:
    return compile_(training.with_graphs(train=known.rewritten(choice.again)))


def _said(known: Recomputing, choice: Choice) -> str:
    once = known.work
    kept = len(known.kept) - len(choice.again)
    return (
        f"to keep to it, {len(choice.again)} activations are computed again and {kept} are kept: "
        f"{choice.work / max(once, 1):.0%} more work in a step"
    )


def _too_little(training: Training, whole: Learner, fewest: Learner, ram: int) -> CompileError:
    least, most = ram_of(fewest), ram_of(whole)
    what = f"a step needs {least:,} bytes at the least that was found, and {most:,} where nothing is computed again"
    layer, alone = largest_layer(fewest)
    what += f"; '{layer}' with all states takes {alone:,} by itself"
    hint = f"--ram {least}; or train fewer weights, whose gradients take as much as they do"
    return CompileError(f"--ram {ram}", what, hint)
