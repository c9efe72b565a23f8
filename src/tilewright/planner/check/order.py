"""A check of which layer does what for which, as a program's trees say it: what comes before a layer's turn is for one
that comes later, what is waited for is of one before, and each of them once. Written without the planner's code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from tilewright.errors import InternalError
from tilewright.ir.affine import Affine
from tilewright.planner.program.program import (
    CORE,
    PERIOD,
    TEAM,
    TILES,
    Body,
    Each,
    Events,
    For,
    Prefetch,
    Stage,
    Submit,
    WaitLayer,
    all_events,
    prefetches,
    value,
)  # fmt: skip
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass

MOST_TURNS = 1_000_000
"""Of a loop over tiles."""
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
    def of(schedule: Schedule) -> Done:
        """By whichever agent."""
        bodies = [body for own in schedule.program.agents.values() for body in own]
        events = [(body.layer, event) for body in bodies for event in all_events((*body.before, *body.events))]
        return Done(
            tuple((b.layer, number) for b in bodies for number in _prefetched(b.events, _known(b, schedule))),
            tuple((b.layer, number) for b in bodies for number in _prefetched(b.before, _known(b, schedule))),
            tuple((turn, event.layer) for turn, event in events if isinstance(event, Stage)),
            tuple((turn, event.layer) for turn, event in events if isinstance(event, WaitLayer)),
            frozenset(turn for turn, event in events if isinstance(event, Submit) and not event.tag),
        )


def _known(body: Body, schedule: Schedule) -> dict[str, int]:
    """Numbers that indices of a body may name besides variables of loops."""
    if body.layer >= len(schedule.layers):
        return {}
    layer = schedule.layers[body.layer]
    return {TILES: layer.tiles, PERIOD: layer.held_tiles, TEAM: schedule.cores, CORE: 0}


def _prefetched(events: Events, known: Mapping[str, int]) -> Iterator[int]:
    """The layers that are prefetched for, as often as it happens: one of several places may be for the last tile."""
    for event in events:
        if isinstance(event, Prefetch) and _value(event.tile, known) == 0:
            yield from event.layers
        elif isinstance(event, Submit):
            yield from _prefetched((*event.meanwhile, *((event.prefetch,) if event.prefetch else ())), known)
        elif isinstance(event, Each):
            yield from _prefetched(event.events, known)
        elif isinstance(event, For) and prefetches(event.events):
            first, stop, step = (_value(one, known) for one in (event.first, event.stop, event.step))
            if step < 1 or (stop - first) // step > MOST_TURNS:
                raise _fault(f"a loop goes from {first} to {stop} by {step}")
            for turn, at in enumerate(range(first, stop, step)):
                counted = {event.counter: turn} if event.counter else {}
                yield from _prefetched(event.events, {**known, event.variable: at, **counted})


def _value(index: Affine, known: Mapping[str, int]) -> int:
    if any(name not in known for name, _ in index.terms):
        raise _fault(f"an index has {index.terms}, of which only {sorted(known)} are known")
    return value(index, known)


def check_order(schedule: Schedule) -> None:
    """Every layer is prefetched for, staged for and waited for once, by one before or after it as the case may be."""
    layers, done = schedule.layers, Done.of(schedule)
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


def _to_be_waited_for(schedule: Schedule, done: Done) -> Iterator[int]:
    """But for those that end before another one which somebody waits for."""
    waited = {layer for _, layer in done.waited}
    for number in done.submitted:
        if number in waited or not _ends_with_another(schedule.layers[number], schedule, done, waited):
            yield number


def _ends_with_another(layer: LayerSchedule, schedule: Schedule, done: Done, waited: set[int]) -> bool:
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
