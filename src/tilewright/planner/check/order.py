"""A check of which layer does what for which, as a program's trees say it: what comes before a layer's turn is for one
that comes later, what is waited for is of one before, and each of them once. Written without the planner's code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tilewright.errors import InternalError
from tilewright.planner.program.program import Program, Stage, Submit, WaitLayer, all_events, prefetches
from tilewright.planner.schedule.tile_schedule import ClusterSchedule, LayerSchedule

Pairs = tuple[tuple[int, int], ...]
"""In the turn of which layer it is done, and for which."""


@dataclass(frozen=True)
class Done:
    """For other layers."""

    prefetched: Pairs
    prefetched_first: Pairs
    """At the beginning of a turn."""
    staged: Pairs
    waited: Pairs
    submitted: frozenset[int]
    """Layers that are waited for in another one."""

    @staticmethod
    def of(program: Program) -> Done:
        """By whichever agent."""
        bodies = [body for own in program.agents.values() for body in own]
        events = [(body.layer, event) for body in bodies for event in all_events((*body.before, *body.events))]
        return Done(
            tuple((b.layer, number) for b in bodies for one in prefetches(b.events) for number in one.layers),
            tuple((b.layer, number) for b in bodies for one in prefetches(b.before) for number in one.layers),
            tuple((turn, event.layer) for turn, event in events if isinstance(event, Stage)),
            tuple((turn, event.layer) for turn, event in events if isinstance(event, WaitLayer)),
            frozenset(turn for turn, event in events if isinstance(event, Submit) and not event.tag),
        )


def check_order(schedule: ClusterSchedule) -> None:
    """Every layer is prefetched for, staged for and waited for once, by one before or after it as the case may be."""
    layers, done = schedule.layers, Done.of(schedule.program)
    if [layer.number for layer in layers] != list(range(len(layers))):
        raise _fault(f"layers are numbered {[layer.number for layer in layers]}")
    fetched = [layer.number for layer in layers if layer.prefetch is not None]
    _check_once("prefetched for", (*done.prefetched, *done.prefetched_first), fetched)
    _check_once("staged for", done.staged, [layer.number for layer in layers if layer.staged])
    _check_once("waited for", done.waited, _to_be_waited_for(schedule, done))
    wrong = [*_not(done.prefetched, lambda turn, layer: turn < layer)]
    wrong += _not(done.prefetched_first, lambda turn, layer: turn == layer)
    wrong += _not(done.staged, lambda turn, layer: layer - turn in (0, 1))
    wrong += _not(done.waited, lambda turn, layer: layer < turn)
    if wrong:
        raise _fault(f"does something for layer {wrong[0][1]} in the turn of layer {wrong[0][0]}")
    for number in done.submitted:
        if layers[number].option.mode != "offload" or layers[number].tiles > 1 or layers[number].stores:
            raise InternalError(layers[number].node.where, "is in flight, which a layer of this kind is not")


def _to_be_waited_for(schedule: ClusterSchedule, done: Done) -> Iterator[int]:
    """But for those that end before another one which somebody waits for."""
    waited = {layer for _, layer in done.waited}
    for number in done.submitted:
        if number in waited or not _ends_with_another(schedule.layers[number], schedule, done, waited):
            yield number


def _ends_with_another(layer: LayerSchedule, schedule: ClusterSchedule, done: Done, waited: set[int]) -> bool:
    """Whether a later layer is waited for that the accelerator does not begin before it has ended this one."""
    return any(
        layer.kernel.in_order and later.kernel.in_order and layer.engine == later.engine
        for later in schedule.layers[layer.number + 1 :]
        if later.option.mode == "offload" and (later.number not in done.submitted or later.number in waited)
    )


def _check_once(what: str, found: Pairs, wanted: Iterable[int]) -> None:
    counted, expected = Counter(layer for _, layer in found), Counter(wanted)
    if counted != expected:
        wrong = sorted((counted - expected) + (expected - counted))
        raise _fault(f"layers {wrong} are {what} not at all, too often or for nothing")


def _not(found: Pairs, rule: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    return [pair for pair in found if not rule(*pair)]


def _fault(what: str) -> InternalError:
    return InternalError("schedule", what)
