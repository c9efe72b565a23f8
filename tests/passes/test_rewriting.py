"""Rewriting a graph: where nothing changes, the graph itself comes back; otherwise all that has changed is in the new
one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import TensorType
from tilewright.ir.unused import drop_unused
from tilewright.ops.add import Add
from tilewright.ops.relu import Relu
from tilewright.passes.rewriting import rewrite

pytestmark = pytest.mark.fast


def graph(unused: bool = False) -> Graph:
    builder = Builder("sum")
    x = builder.input("x", TensorType("float32", (4,)))
    (sums,) = builder(Add(), [x, builder.constant(np.ones(4, np.float32), "ones")], ["sums"])
    if unused:
        builder(Relu(), [builder.constant(np.zeros(4, np.float32), "zeros")], ["nobody"])
    builder.output(*builder(Relu(), [sums], ["y"]))
    return builder.build()


def nothing(node: Node, builder: Builder) -> None:
    return None


def test_nothing_changes() -> None:
    whole = graph()
    assert rewrite(whole, nothing) is whole
    assert drop_unused(whole) is whole


def test_what_nobody_needs_is_dropped_all_the_same() -> None:
    made = rewrite(graph(unused=True), nothing)
    assert [node.key for node in made.nodes] == ["sums", "y"]
    assert made.constants.keys() == {"ones"}
    assert made.types.keys() == graph().types.keys()


def test_a_note_is_a_change() -> None:
    def noting(node: Node, builder: Builder) -> None:
        builder.notes.append(f"seen {node.key}")

    assert rewrite(graph(), noting).notes == ("seen sums", "seen y")


def test_a_node_for_itself_is_a_change() -> None:
    """Whoever replaces a node by an equal one gets another graph, which is checked."""

    def again(node: Node, builder: Builder) -> Mapping[str, str]:
        return dict(zip(node.outputs, builder.add(node.op, node.inputs, node.outputs, node.name), strict=True))

    whole = graph()
    made = rewrite(whole, again)
    assert made is not whole
    assert made.nodes == whole.nodes
