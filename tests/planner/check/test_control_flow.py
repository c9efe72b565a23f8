"""Planned loops and branches that could go wrong are found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import control_flow
from tilewright import pipeline
from tilewright.errors import InternalError, instance
from tilewright.planner.check.control_flow import check_control_flow
from tilewright.planner.schedule.planned_flow import Memory, Planned, Plans, Slice, planned_layers
from tilewright.planner.schedule.schedule import Schedule


@pytest.fixture(scope="module")
def schedule() -> Schedule:
    graph = pipeline.import_model(control_flow.known_length())
    return instance(pipeline.stage(graph, "generic", "schedule"), Schedule)


def loop_of(schedule: Schedule) -> tuple[int, Planned]:
    return next((layer.number, op) for layer, op in planned_layers(schedule) if op.kind == "Loop")


def with_op(schedule: Schedule, number: int, op: Planned) -> Schedule:
    layer = schedule.layers[number]
    option = replace(layer.option, node=replace(layer.node, op=op))
    layers = list(schedule.layers)
    layers[number] = replace(layer, option=option)
    return replace(schedule, layers=tuple(layers))


def with_memory(op: Planned, **changes: object) -> Planned:
    """The same control flow with another idea of its working memory."""
    found = replace(op)
    found.__dict__["memory"] = replace(instance(op.memory, Memory), **changes)  # type: ignore[arg-type]
    return found


def test_what_is_planned_is_right(schedule: Schedule) -> None:
    assert {op.kind for _, op in planned_layers(schedule)} == {"If", "Loop"}
    check_control_flow(schedule)


def test_values_that_are_carried_on_have_bytes_of_their_own(schedule: Schedule) -> None:
    number, op = loop_of(schedule)
    (own,) = op.memory.next_values
    wrong = with_memory(op, arena=Slice(own.offset, max(op.memory.arena.bytes, 16)))
    with pytest.raises(InternalError, match="of its working memory overlap"):
        check_control_flow(with_op(schedule, number, wrong))


def test_they_have_enough_of_them(schedule: Schedule) -> None:
    number, op = loop_of(schedule)
    (own,) = op.memory.next_values
    with pytest.raises(InternalError, match="has 15 bytes for 16"):
        check_control_flow(with_op(schedule, number, with_memory(op, next_values=(replace(own, bytes=15),))))


def test_all_of_it_lies_in_the_working_memory_of_the_layer(schedule: Schedule) -> None:
    number, op = loop_of(schedule)
    behind = with_memory(op, arena=replace(op.memory.arena, offset=op.memory.bytes + 1600))
    with pytest.raises(InternalError, match="bytes of working memory, has"):
        check_control_flow(with_op(schedule, number, behind))


def test_places_are_aligned(schedule: Schedule) -> None:
    number, op = loop_of(schedule)
    moved = with_memory(op, arena=replace(op.memory.arena, offset=op.memory.arena.offset + 4))
    with pytest.raises(InternalError, match="no multiples of 16"):
        check_control_flow(with_op(schedule, number, moved))


def test_schedules_are_those_of_the_bodies(schedule: Schedule) -> None:
    number, op = loop_of(schedule)
    other = next(one for _, one in planned_layers(schedule) if one.kind == "If")
    swapped = replace(op, plans=Plans(other.schedules[:1]))
    with pytest.raises(InternalError, match="are not those of its bodies"):
        check_control_flow(with_op(schedule, number, swapped))
