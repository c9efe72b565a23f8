"""Layers that would look for something in a memory where it is not are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support import control_flow, states
from tilewright import pipeline
from tilewright.errors import InternalError, instance
from tilewright.planner.check.places import check_places
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule

Changed = Callable[[LayerSchedule], LayerSchedule]


@pytest.fixture(scope="module")
def schedule() -> Schedule:
    return instance(pipeline.stage(states.accumulator(), "gpu", "schedule"), Schedule)


def with_layers(schedule: Schedule, change: Changed) -> Schedule:
    return replace(schedule, layers=tuple(map(change, schedule.layers)))


def on_engine(kind: str, engine: str) -> Changed:
    def changed(layer: LayerSchedule) -> LayerSchedule:
        return replace(layer, option=replace(layer.option, engine=engine)) if layer.node.op.kind == kind else layer

    return changed


@pytest.mark.fast
def test_what_is_planned_is_right(schedule: Schedule) -> None:
    """A state on the GPU; what goes into a body of control flow."""
    assert [layer.node.op.kind for layer in schedule.layers] == ["Upload", "Add", "Relu", "Download"]
    check_places(schedule)
    flow = pipeline.import_model(control_flow.known_length())
    check_places(instance(pipeline.stage(flow, "gpu", "schedule"), Schedule))


@pytest.mark.fast
@pytest.mark.parametrize(
    ("kind", "told"),
    [("Add", "reads .* on the cores, which is on gpu"), ("Relu", "reads .* on the cores, which is on gpu")],
)
def test_a_layer_on_another_engine(schedule: Schedule, kind: str, told: str) -> None:
    with pytest.raises(InternalError, match=told):
        check_places(with_layers(schedule, on_engine(kind, "cpu")))


@pytest.mark.fast
def test_results_that_nobody_brings(schedule: Schedule) -> None:
    """The copy that brings an output to the caller is a kernel of the GPU."""
    relu = next(layer for layer in schedule.layers if layer.node.op.kind == "Relu")

    def computed(layer: LayerSchedule) -> LayerSchedule:
        is_copy = layer.node.op.kind == "Download"
        return replace(layer, option=replace(layer.option, kernel=relu.kernel)) if is_copy else layer

    with pytest.raises(InternalError, match="writes 'y', which is the caller's, on gpu"):
        check_places(with_layers(schedule, computed))


@pytest.mark.fast
def test_a_state_in_two_places(schedule: Schedule) -> None:
    """Its new value is made where nobody looks for it."""
    (state,) = schedule.graph.states
    brought = next(layer for layer in schedule.layers if layer.node.op.kind == "Upload").node.inputs[0]
    graph = replace(schedule.graph, states=(replace(state, after=brought),))
    with pytest.raises(InternalError, match="is on gpu and on the cores"):
        check_places(replace(schedule, graph=graph))
