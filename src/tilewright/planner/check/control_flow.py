"""A check of planned control flow, without the planner's code: bodies are the ones that are meant, what they are given
and make lies outside their arena, and all that a layer keeps around them has bytes of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tilewright.errors import InternalError
from tilewright.ops._control_flow import Loop
from tilewright.planner.home import INPUT, OUTPUT
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.planned_flow import Planned, Slice, planned_layers
from tilewright.planner.schedule.schedule import Schedule


def check_control_flow(schedule: Schedule) -> None:
    """Raises `InternalError` for layers that could go wrong; their bodies' schedules are checked by themselves."""
    for layer, op in planned_layers(schedule):
        where = layer.node.where
        if [one.graph for one in op.schedules] != [body.graph for body in op.flow.bodies]:
            raise InternalError(where, "its schedules are not those of its bodies")
        for body in op.schedules:
            _check_body(body, where)
        _check_memory(layer, op, where)


def _check_body(body: Schedule, where: str) -> None:
    graph = body.graph
    if graph.constants or graph.states:
        raise InternalError(where, f"{graph.name} has constants or states of its own")
    if len(set(graph.outputs)) != len(graph.outputs):
        raise InternalError(where, f"{graph.name} makes two outputs in one place")
    for names, kind in ((graph.inputs, INPUT), (graph.outputs, OUTPUT)):
        for name in names:
            if body.homes[name].kind != kind:
                raise InternalError(where, f"'{name}' of {graph.name} lies in {body.homes[name]}")


def _check_memory(layer: LayerSchedule, op: Planned, where: str) -> None:
    places = sorted(_places(op, where), key=lambda place: place.offset)
    for one, other in pairwise(places):
        if one.end > other.offset and other.bytes:
            raise InternalError(where, f"{one} and {other} of its working memory overlap")
    if any(place.offset % op.alignment for place in places):
        raise InternalError(where, f"its working memory has places that are no multiples of {op.alignment}")
    there = layer.scratch.bytes if layer.scratch is not None else 0
    if max(place.end for place in places) > there:
        raise InternalError(where, f"needs {max(place.end for place in places)} bytes of working memory, has {there}")


def _places(op: Planned, where: str) -> Iterator[Slice]:
    """All that are used, each large enough for what it is for."""
    wanted: list[tuple[Slice | None, int]] = [(op.memory.arena, max(one.arena_bytes for one in op.schedules))]
    if isinstance(op.flow, Loop):
        loop = op.flow
        carried = loop.body.inputs[1 : 1 + loop.carried]
        wanted += zip(op.memory.next_values, (kind.bytes for kind in carried), strict=True)
        ends = (op.memory.elements_in, loop.elements_in), (op.memory.elements_out, loop.elements_out)
        for found, kinds in ends:
            for place, kind in zip(found, kinds, strict=True):
                if place is None and kind.bytes % op.alignment:
                    raise InternalError(where, f"elements of {kind.bytes} bytes are used where they are not aligned")
                wanted.append((place, kind.bytes))
    for place, size in wanted:
        if place is not None and place.bytes < size:
            raise InternalError(where, f"has {place.bytes} bytes for {size}")
    yield from (place for place, _ in wanted if place is not None)
