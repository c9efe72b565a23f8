"""A target's own passes run on the lowered graph, and only for that target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.models import small
from tilewright import pipeline, targets
from tilewright.ir import Builder, Graph, Node
from tilewright.ops.abs import Abs
from tilewright.ops.relu import Relu
from tilewright.passes import Pass
from tilewright.passes.rewriting import rewrite

pytestmark = pytest.mark.fast


def abs_for_relu(node: Node, builder: Builder) -> dict[str, str] | None:
    if not isinstance(node.op, Relu):
        return None
    builder.add(Abs(), node.inputs, node.outputs)
    return {node.outputs[0]: node.outputs[0]}


def kinds(graph: Graph) -> list[str]:
    return [node.op.kind for node in graph.nodes]


def test_a_target_rewrites_the_lowered_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pipeline.import_model(small())
    assert kinds(pipeline.stage(graph, "generic", "lowered")) == ["Add", "Relu", "Add"]
    own = replace(targets.find("generic"), passes=(Pass("abs for relu", lambda g: rewrite(g, abs_for_relu)),))
    monkeypatch.setattr(targets, "find", lambda name: own)
    assert kinds(pipeline.stage(graph, "generic", "lowered")) == ["Add", "Abs", "Add"]
    assert kinds(pipeline.stage(graph, "generic", "quantised")) == ["Add", "Relu", "Add"]
