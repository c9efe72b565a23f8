"""The program of a cluster: what each agent does in each layer, by how the machine moves data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from tilewright.planner.program.program import (
    CORES,
    DMA,
    Body,
    Events,
    FinishLayer,
    Prefetch,
    Program,
    Stage,
    WaitLayer,
    WaitStaged,
)
from tilewright.planner.schedule.core_loops import (
    ALONE,
    CALLED,
    SIDE_BY_SIDE,
    SUBMITTED,
    TOGETHER,
    Trees,
    cooperative,
    cooperative_alone,
    dma_copy,
    dma_copy_alone,
    in_place,
    in_place_alone,
    in_place_requests,
    per_core_copies,
    per_core_ports,
    per_core_requests,
)
from tilewright.planner.schedule.event_pieces import MEET, Pieces, Turn
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.offload_loops import offload
from tilewright.target.agents import BY_ALL_CORES, BY_PORTS, BY_REQUESTS

Builder = Callable[[Pieces], Trees]

_WITH_DMA_CORE: Mapping[str, Builder] = {
    "cooperative": cooperative, "in_place": in_place, "dma_copy": dma_copy, "offload": offload,
}  # fmt: skip
BUILDERS: Mapping[str, Mapping[str, Builder]] = {
    BY_PORTS: {**_WITH_DMA_CORE, "per_core": per_core_ports},
    BY_REQUESTS: {**_WITH_DMA_CORE, "in_place": in_place_requests, "per_core": per_core_requests},
    BY_ALL_CORES: {
        "cooperative": cooperative_alone, "in_place": in_place_alone, "dma_copy": dma_copy_alone,
        "per_core": per_core_copies,
    },
}  # fmt: skip
"""Who starts transfers -> the mode of a layer -> what its agents do."""


def build_program(layers: Sequence[LayerSchedule], turns: Sequence[Turn], transfers: str) -> Program:
    """`turns` has one more than there are layers, for what comes behind the last."""
    alone = transfers == BY_ALL_CORES
    bodies: dict[str, list[Body]] = {CORES: []} if alone else {DMA: [], CORES: []}
    wait = WaitStaged(tuple(dict.fromkeys(staged.last_from for layer in layers for staged in layer.staged)))
    for layer, turn in zip(layers, turns, strict=False):
        pieces = Pieces(layer, turn, ALONE if alone else MEET)
        trees, before = BUILDERS[transfers][_mode(layer)](pieces), _before(layer, turn, layers, wait)
        if alone:
            before = {CORES: tuple(ALONE if event == MEET else event for event in before[DMA])}
        for agent, own in bodies.items():
            own.append(Body(layer.number, before[agent], trees[agent]))
    waited = _waited(turns[-1].waits_for, layers)
    for agent, own in bodies.items():
        own.append(Body(len(layers), waited[agent], ()))
    return Program({agent: tuple(found) for agent, found in bodies.items()})


def build_arena_program(layers: Sequence[LayerSchedule], waits: Sequence[tuple[int, ...]], cores: int) -> Program:
    """Of cores that work where all tensors lie: one calls kernels, submits jobs and waits for them; of several, each
    has parts of a layer, or the first one all of it, and all meet after it. `waits` has one more, for the end."""
    bodies = []
    for layer, waited in zip(layers, waits, strict=False):
        several = TOGETHER if layer.option.kernel.cooperative else SIDE_BY_SIDE
        events = SUBMITTED if layer.option.mode == "offload" else CALLED if cores == 1 else several
        bodies.append(Body(layer.number, tuple(map(WaitLayer, waited)), events))
    return Program({CORES: (*bodies, Body(len(layers), tuple(map(WaitLayer, waits[-1])), ()))})


def _mode(layer: LayerSchedule) -> str:
    """A kernel of all cores takes part of its work from L2 as it would from L1."""
    return "cooperative" if layer.option.mode == "in_place" and layer.option.kernel.cooperative else layer.option.mode


def _before(layer: LayerSchedule, turn: Turn, layers: Sequence[LayerSchedule], wait: WaitStaged) -> Trees:
    """Earlier layers that accelerators have ended, constants that are staged, what is fetched only now."""
    waited = _waited(turn.waits_for, layers)
    first = (MEET, wait, Stage(layer.number)) if turn.stages_first else ()
    following = () if turn.stages_next is None else (Stage(turn.stages_next),)
    staged = (MEET, wait, *following) if layer.staged or following else ()
    # The layer before may still use the bytes.
    now = (MEET, Prefetch((layer.number,))) if turn.prefetches_first else ()
    fetched: Events = (*first, *staged, *now)
    meetings = tuple(event for event in fetched if event == MEET)
    return {DMA: (*waited[DMA], *fetched), CORES: (*waited[CORES], *meetings)}


def _waited(numbers: tuple[int, ...], layers: Sequence[LayerSchedule]) -> Trees:
    """The DMA core waits for jobs of earlier layers, cores finish them."""
    finished = [number for number in numbers if layers[number].has_epilogue]
    waits: list[Events] = [(WaitLayer(number), *[MEET] * (number in finished)) for number in numbers]
    calls: list[Events] = [(MEET, FinishLayer(number)) for number in finished]
    return {DMA: tuple(chain.from_iterable(waits)), CORES: tuple(chain.from_iterable(calls))}
