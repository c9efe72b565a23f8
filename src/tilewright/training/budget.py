"""A training within a limit of RAM: planned again with fewer activations kept, until it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.training.compiling import Learner
from tilewright.training.front_search import sketches
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


def within(training: Training, ram: int | None, compile_: Compile, compile_small: Compile | None = None) -> Within:
    """The training, compiled; with a budget, the one that computes least again and keeps to it.

    What estimates say of choices is ordered as what plans take of them is, so that the first one that fits is found by
    halving. If none fits, the first layers are computed in strips of rows; `compile_small` makes inference small, too.
    """
    known = Recomputing(training.train)
    if ram is None:
        return Within(compile_(training), "", known.activations(frozenset()))
    whole = _if_it_fits(training, compile_)
    if whole is not None and ram_of(whole) <= ram:
        return Within(whole, "", known.activations(frozenset()))
    choices = known.choices()
    fewest = compile_(_changed(training, known, choices[-1]))
    if ram_of(fewest) > ram:
        room = ram - (ram_of(fewest) - choices[-1].peak)
        tried = list(_in_strips(training, known, room, ram, compile_small or compile_))
        if tried and ram_of(tried[-1].learner) <= ram:
            return tried[-1]
        raise _too_little(whole, min([fewest, *(one.learner for one in tried)], key=ram_of), ram)
    return _least_work(training, known, choices, ram, compile_, fewest)


def _in_strips(training: Training, known: Recomputing, room: int, ram: int, compile_: Compile) -> Iterator[Within]:
    """Plans with the first layers in strips, up to one that fits."""
    for sketch in sketches(known, room):
        for choice in dict.fromkeys([sketch.choice_within(room), sketch.choices[-1]]):
            learner = _if_it_fits(training.with_graphs(train=sketch.graph(choice)), compile_)
            if learner is None:
                continue
            yield Within(learner, sketch.said(choice), known.activations(sketch.again(choice)))
            if ram_of(learner) <= ram:
                return


def _if_it_fits(training: Training, compile_: Compile) -> Learner | None:
    """None where the target refuses it: with fewer activations it may fit, or is refused for the same reason."""
    try:
        return compile_(training)
    except CompileError:
        return None


def _least_work(
    training: Training, known: Recomputing, choices: Sequence[Choice], ram: int, compile_: Compile, fewest: Learner
) -> Within:
    """Between all that is kept, which is too much, and the least."""
    found, best, low, high = fewest, len(choices) - 1, 0, len(choices) - 1
    for _ in range(PLANS):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        tried = _if_it_fits(_changed(training, known, choices[middle]), compile_)
        if tried is not None and ram_of(tried) <= ram:
            found, best, high = tried, middle, middle
        else:
            low = middle
    return Within(found, _said(known, choices[best]), known.activations(choices[best].again))


def _changed(training: Training, known: Recomputing, choice: Choice) -> Training:
    return training.with_graphs(train=known.rewritten(choice.again, choice.forgets))


def _said(known: Recomputing, choice: Choice) -> str:
    once = known.work
    kept = len(known.kept) - len(choice.again)
    return (
        f"to keep to it, {len(choice.again)} activations are computed again and {kept} are kept: "
        f"{choice.work / max(once, 1):.0%} more work in a step"
    )


def _too_little(whole: Learner | None, fewest: Learner, ram: int) -> CompileError:
    if whole is not None:
        fewest = min(whole, fewest, key=ram_of)
    least = ram_of(fewest)
    most = "" if whole is None else f", and {ram_of(whole):,} where nothing is computed again"
    layer, alone = largest_layer(fewest)
    what = f"a step needs {least:,} bytes at the least that was found{most}"
    what += f"; '{layer}' with all states takes {alone:,} by itself"
    hint = f"--ram {least}; or train fewer weights, whose gradients take as much as they do"
    return CompileError(f"--ram {ram}", what, hint)
