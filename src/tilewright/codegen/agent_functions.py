"""A program as C: a function for each agent, one for each layer that this calls, and loops that layers share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tilewright.codegen.event_text import LAYER, NEXT, EventText
from tilewright.codegen.functions import APART, function, mentions
from tilewright.codegen.index_text import Indices
from tilewright.planner.program.program import (
    CORES,
    DMA,
    LOAD,
    PERIOD,
    RENEW,
    RUN,
    STORE,
    TILES,
    Body,
    Event,
    Events,
    For,
    Prefetch,
    Program,
    Submit,
    all_events,
    prefetches,
)
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.records import dataclass

FEWEST_SHARED = 6
"""Events that are worth a function which several layers call."""
CALLED = {DMA: "dma_core", CORES: "workers"}
LOOPS = {DMA: "dma_core_loop", CORES: "worker_loop"}
"""What functions of agents are called."""
LOOP = re.compile(r"(dma_core|worker)_loop_\d+")
"""What several layers have in common."""
FUNCTION, NUMBER = "tw_tile *", "int "
PARAMETERS = {
    LAYER: NUMBER, TILES: NUMBER, PERIOD: NUMBER, LOAD: FUNCTION, RENEW: FUNCTION, "gather": FUNCTION, RUN: FUNCTION,
    "finish": FUNCTION, STORE: FUNCTION, NEXT: "tw_fetch *",
}  # fmt: skip
"""What a loop that layers share may be given, in this order."""
Key = tuple[Events, int]


@dataclass(frozen=True)
class AgentFunctions:
    agent: str
    bodies: Sequence[Body]
    layers: Sequence[LayerSchedule]

    @cached_property
    def _shared(self) -> dict[Key, str]:
        """Equal bodies that several layers have -> the function that they call."""
        counts = Counter(self._key(body) for body in self.bodies)
        some = [key for key, count in counts.items() if count > 1 and len(list(all_events(key[0]))) >= FEWEST_SHARED]
        return {key: f"{LOOPS[self.agent]}_{number}" for number, key in enumerate(some)}

    def _key(self, body: Body) -> Key:
        """Whether there are several tiles is known where code is written."""
        layer = self._layer(body)
        return _without_layers(body.events), min(layer.tiles, 2) if layer is not None else 0

    def _layer(self, body: Body) -> LayerSchedule | None:
        return self.layers[body.layer] if body.layer < len(self.layers) else None

    def text(self) -> str:
        loops = [self._loop(key, name) for key, name in self._shared.items()]
        bodies = [body for body in self.bodies if body.layer < len(self.layers) or body.before]
        own = [self._function(body) for body in bodies]
        calls = [f"  {self._name(body)}();" for body in bodies]
        return "\n\n".join([*loops, *own, function(CALLED[self.agent], "void", calls)])

    def _name(self, body: Body) -> str:
        where = f"layer_{body.layer}" if body.layer < len(self.layers) else "behind_layers"
        return f"{where}_{CALLED[self.agent]}"

    def _loop(self, key: Key, name: str) -> str:
        writer = _loop_writer(key)
        lines = [*writer.declared(key[0]), *writer.lines(key[0])]
        given = ", ".join(f"{PARAMETERS[one]}{one}" for one in _parameters(key))
        return function(name, given, lines, APART)

    def _function(self, body: Body) -> str:
        layer = self._layer(body)
        tiles = {} if layer is None else {TILES: str(layer.tiles), PERIOD: str(layer.held_tiles)}
        fewest = 0 if layer is None else layer.tiles
        writer = EventText(_names(body), Indices(tiles, fewest))
        lines = writer.lines(body.before)
        if (shared := self._shared.get(self._key(body))) is not None:
            given = self._given(body, layer)
            lines.append(f"  {shared}({', '.join(given[one] for one in _parameters(self._key(body)))});")
        else:
            own = replace(writer, names={**writer.names, NEXT: _next(body)})
            lines = [*own.declared(body.events), *lines, *own.lines(body.events)]
        return function(self._name(body), "void", lines or ["  TW_NOTHING();"], APART)

    def _given(self, body: Body, layer: LayerSchedule | None) -> Mapping[str, str]:
        numbers = {} if layer is None else {TILES: str(layer.tiles), PERIOD: str(layer.held_tiles)}
        return _names(body) | numbers | {NEXT: _next(body)}


def agents_text(program: Program, layers: Sequence[LayerSchedule]) -> str:
    """All of it; the function that all cores call is `all_layers`."""
    texts = [AgentFunctions(agent, bodies, layers).text() for agent, bodies in program.agents.items()]
    if DMA in program.agents:
        both = ["  if (tw_is_dma_core()) {", "    dma_core();", "  } else {", "    workers();", "  }"]
    else:
        both = ["  workers();"]
    return "\n\n".join([*texts, function("all_layers", "void", both)])


def prefetched_together(program: Program) -> dict[int, tuple[int, ...]]:
    """Layers -> several later ones that are prefetched for by one function."""
    bodies = (body for own in program.agents.values() for body in own)
    found = {body.layer: event.layers for body in bodies for event in prefetches(body.events)}
    return {number: layers for number, layers in found.items() if len(layers) > 1}


def _next(body: Body) -> str:
    layers = next((event.layers for event in prefetches(body.events)), ())
    return f"layer_{layers[0]}_prefetch" if len(layers) == 1 else f"after_layer_{body.layer}"


def _names(body: Body) -> dict[str, str]:
    functions = {what: f"layer_{body.layer}_{what}" for what in (LOAD, RENEW, STORE, RUN, "gather", "finish")}
    return {**functions, LAYER: str(body.layer)}


def _without_layers(events: Events) -> Events:
    """Layers that are prefetched for are given as a function."""
    return tuple(map(_without_layer, events))


def _without_layer(event: Event) -> Event:
    if isinstance(event, For):
        return replace(event, events=_without_layers(event.events))
    if isinstance(event, Prefetch):
        return replace(event, layers=())
    if isinstance(event, Submit) and event.prefetch is not None:
        return replace(event, prefetch=replace(event.prefetch, layers=()))
    return event


def _parameters(key: Key) -> list[str]:
    """What the C of a loop mentions."""
    text = "\n".join(_loop_writer(key).lines(key[0]))
    return [name for name in PARAMETERS if mentions(text, name)]


def _loop_writer(key: Key) -> EventText:
    return EventText({one: one for one in PARAMETERS}, Indices({}, key[1]))
