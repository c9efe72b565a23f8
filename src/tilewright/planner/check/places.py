"""A check that layers find what they read in the memory that their engine works in, written without the planner's code.
It always runs where an engine has a memory of its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from tilewright.errors import InternalError
from tilewright.planner.home import INPUT, OUTPUT
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.planned_flow import planned_layers
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.target import Engine

CORES = "the cores"


def check_places(schedule: Schedule, known: Collection[str] = ()) -> Schedule:
    """The schedule, or `InternalError` if a layer would look for something where it is not. `known` are inputs that are
    everywhere: constants, for the body of a loop."""
    engines = {engine.name: engine for engine in schedule.target.engines}
    if all(engine.transfers is None for engine in engines.values()):
        return schedule
    found = _Places(schedule, {*schedule.graph.constants, *known})
    layers = {layer.node.key: layer for layer in schedule.layers}
    for node in schedule.graph.nodes:
        if node.op.view:
            found.view(node.inputs[0], node.outputs[0])
        elif node.key in layers:
            found.layer(layers[node.key], engines[layers[node.key].engine])
    found.end()
    for layer, planned in planned_layers(schedule):
        for body in planned.plans.schedules:
            check_places(body, _constants_of(layer, body, found.everywhere))
    return schedule


def _constants_of(layer: LayerSchedule, body: Schedule, everywhere: Collection[str]) -> set[str]:
    """Inputs of a body, the last ones, that stand for constants."""
    count = 0
    for name in reversed(layer.node.inputs):
        if name not in everywhere:
            break
        count += 1
    return set(body.graph.inputs[max(len(body.graph.inputs) - count, 0) :])


@dataclass
class _Places:
    schedule: Schedule
    everywhere: set[str]
    lies: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lies |= {name: CORES for name in self.schedule.graph.inputs if name not in self.everywhere}
        self.states = {state.before for state in self.schedule.graph.states}

    def view(self, name: str, seen: str) -> None:
        if name in self.everywhere:
            self.everywhere.add(seen)
        elif name in self.states:
            self.states.add(seen)
        else:
            self.lies[seen] = self.lies[name]

    def layer(self, layer: LayerSchedule, engine: Engine) -> None:
        reads = writes = engine.name if engine.transfers else CORES
        if engine.transfers and layer.kernel == engine.transfers.into:
            reads = CORES
        if engine.transfers and layer.kernel == engine.transfers.out_of:
            writes = CORES
        for name in filter(None, layer.node.inputs):
            if name not in self.everywhere:
                self._read(name, reads, layer)
        for name in filter(None, layer.node.outputs):
            self.lies[name] = writes
            if self.schedule.homes[name].kind in (INPUT, OUTPUT) and writes != CORES:
                raise InternalError(layer.node.where, f"writes '{name}', which is the caller's, on {writes}")

    def _read(self, name: str, place: str, layer: LayerSchedule) -> None:
        if name in self.states:
            # A state is where the first layer finds it that reads it.
            owner = self.schedule.homes[name].owner
            found = self.lies.setdefault(owner, place)
        else:
            found = self.lies[name]
        if found != place:
            raise InternalError(layer.node.where, f"reads '{name}' on {place}, which is on {found}")

    def end(self) -> None:
        for state in self.schedule.graph.states:
            places = {self.lies.get(name, "") for name in (state.before, state.after)} - {""}
            if len(places) > 1:
                raise InternalError(f"state '{state.name}'", f"is on {' and on '.join(sorted(places))}")
