"""Gradients of convolutions by their operand are cut along channels: windows of their pixels do not move evenly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import same
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.settings import Settings


def gradient(size: int, channels: int, filters: int, groups: int = 1, stride: int = 1) -> Graph:
    """Of an image of `size` pixels each way that three by three taps were on, by integers: exact sums."""
    rng = np.random.default_rng(0)
    b = Builder("gradient")
    out = (size - 1) // stride + 1
    g = b.input("g", TensorType("float32", (1, out, out, filters)))
    w = b.constant(rng.integers(-3, 4, (filters, 3, 3, channels // groups)).astype(np.float32), "w")
    window = {"strides": (stride, stride), "dilations": (1, 1), "padding": (1, 1, 0, 0)}
    op = ConvInputGrad(**window, groups=groups, size=(size, size), channels_last=True)
    b.output(b(op, [g, w])[0], "y")
    return b.build()


def scheduled(graph: Graph, l1: int | None = None) -> Schedule:
    made: Schedule = pipeline.stage(graph, "siracusa", "schedule", settings=Settings(l1=l1, time_limit=1.0))
    return made


@pytest.mark.parametrize(
    ("graph", "l1", "loop"),
    [
        (gradient(8, 64, 64), None, "c"),
        (gradient(8, 16, 12, stride=2), 16_000, "c"),
        (gradient(8, 48, 48, groups=48), 16_000, "g"),
    ],
    ids=["transformed", "strided", "depthwise"],
)
def test_what_l1_does_not_hold_is_cut_along_channels(graph: Graph, l1: int | None, loop: str) -> None:
    plan = pipeline.stage(graph, "siracusa", "tiled", settings=Settings(l1=l1, time_limit=1.0))
    (option,) = (step.option for step in plan.steps if isinstance(step.option.node.op, ConvInputGrad))
    assert loop in {cut.loop for cut in option.grid.cuts}
    assert not {cut.loop for cut in option.grid.cuts} & set("yxrs")
    feeds = {"g": np.random.default_rng(1).integers(-3, 4, graph.types["g"].shape).astype(np.float32)}
    found = interpret(scheduled(graph, l1), feeds)
    same(found[plan.mapped.graph.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]])


@pytest.mark.parametrize("rows", [1, 3])
def test_positions_in_the_padding_are_read_like_others(rows: int) -> None:
    """Of windows with one tap: the first row of them, and the first column, lie before the image."""
    rng, groups = np.random.default_rng(0), 512
    b = Builder("gradient")
    g = b.input("g", TensorType("float32", (1, rows, 3, groups)))
    w = b.constant(rng.integers(-3, 4, (groups, 1, 1, 1)).astype(np.float32), "w")
    window = {"strides": (4, 2), "dilations": (1, 1), "padding": (2, 2, 0, 2)}
    op = ConvInputGrad(**window, groups=groups, size=(4 * rows - 3, 3), channels_last=True)
    b.output(b(op, [g, w])[0], "y")
    graph = b.build()
    plan = scheduled(graph, 8_000)
    assert any(layer.option.grid.cuts for layer in plan.layers)
    feeds = {"g": rng.integers(-3, 4, graph.types["g"].shape).astype(np.float32)}
    found = interpret(plan, feeds)
    same(found[plan.graph.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]])
