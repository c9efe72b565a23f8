"""A target's own passes run on the lowered graph, and only for that target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.passes.small import Small, feeds_of, integers
from tests.support.checks import check_graph
from tests.support.models import small
from tilewright import pipeline, targets
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.abs import Abs
from tilewright.ops.conv import Conv
from tilewright.ops.relu import Relu
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.passes.rewriting import rewrite


def abs_for_relu(node: Node, builder: Builder) -> dict[str, str] | None:
    if not isinstance(node.op, Relu):
        return None
    builder.add(Abs(), node.inputs, node.outputs)
    return {node.outputs[0]: node.outputs[0]}


def kinds(graph: Graph) -> list[str]:
    return [node.op.kind for node in graph.nodes]


@pytest.mark.fast
def test_a_target_rewrites_the_lowered_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pipeline.import_model(small())
    assert kinds(pipeline.stage(graph, "generic", "lowered")) == ["Add", "Relu", "Add"]
    own = replace(targets.find("generic"), passes=(Pass("abs for relu", lambda g: rewrite(g, abs_for_relu)),))
    monkeypatch.setattr(targets, "find", lambda name: own)
    assert kinds(pipeline.stage(graph, "generic", "lowered")) == ["Add", "Abs", "Add"]
    assert kinds(pipeline.stage(graph, "generic", "quantised")) == ["Add", "Relu", "Add"]


@pytest.mark.in_turns(5)
def test_outputs_that_become_views_of_one_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(targets.find("generic"), passes=(CHANNELS_LAST,))
    monkeypatch.setattr(targets, "find", lambda name: own)
    images = Small()
    x = images.add(Conv(), images.input("x", 1, 3, 2, 2), images.constant(integers("int8", 4, 3, 2, 2)))
    graph = images.graph(x, images.add(Transpose((0, 2, 3, 1)), x))
    check_graph(graph, feeds_of(graph), tolerance=0)
