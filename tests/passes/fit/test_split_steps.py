"""Recurrent cells in parts mean what they meant, whether the state's products stay with them or not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import same
from tests.support.recurrent import KINDS, floats
from tilewright import pipeline, targets
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import type_of
from tilewright.ops._cells import Cells
from tilewright.ops.grucells import GRUCells
from tilewright.passes.fit.split_steps import can_be_split, can_multiply_apart, split_steps, steps_at_once
from tilewright.planner.refit.refit import refit_tiles
from tilewright.target.settings import Settings


def network(kind: type[Cells], reverse: bool = False, steps: int = 7, hidden: int = 6, **given: bool) -> Graph:
    """Cells with a state to begin with, and all of their results."""
    random, op = np.random.default_rng(1), kind(kind().functions, reverse, **given)
    builder, width = Builder("cells"), op.gates * hidden
    x = builder.input("x", type_of(floats(random, steps, 2, width)))
    operands = {"X": x, "R": builder.constant(floats(random, width, hidden), "r")}
    operands["H"] = builder.input("h", type_of(floats(random, 2, hidden)))
    for tensor in builder.add(op, [operands.get(name.rstrip("?"), "") for name in op.operands], name="cells"):
        builder.output(tensor)
    return builder.build()


def check(graph: Graph, changed: Graph) -> None:
    random = np.random.default_rng(2)
    feeds = {name: floats(random, *graph.types[name].shape) for name in graph.inputs}
    wanted, found = evaluate(graph, feeds), evaluate(changed, feeds)
    for before, after in zip(graph.outputs, changed.outputs, strict=True):
        same(found[after], wanted[before])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_parts_mean_the_same(kind: type[Cells], reverse: bool) -> None:
    graph = network(kind, reverse)
    (node,) = graph.nodes
    assert can_be_split(graph, node)
    for size in (1, 3, 4, 7):
        changed = split_steps(graph, {node.key: size})
        check(graph, changed)
        assert sum(isinstance(each.op, Cells) for each in changed.nodes) == -(-7 // size)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_products_apart_mean_the_same(kind: type[Cells], reverse: bool) -> None:
    graph = network(kind, reverse, **({"linear_before_reset": True} if kind is GRUCells else {}))
    (node,) = graph.nodes
    assert can_multiply_apart(graph, node)
    changed = split_steps(graph, {node.key: 0})
    check(graph, changed)
    assert all("R" not in each.operands() for each in changed.nodes if isinstance(each.op, Cells))


def test_a_state_that_is_reset_first_stays_in_the_cells() -> None:
    graph = network(GRUCells)
    assert not can_multiply_apart(graph, graph.nodes[0])


def test_memories_decide_how_many_steps() -> None:
    graph = network(KINDS[0], steps=100, hidden=16)
    (node,) = graph.nodes
    r, each = 64 * 16 * 4, (64 + 16) * 4
    assert steps_at_once(graph, node, r) == 0
    assert steps_at_once(graph, node, r + 100 * each) in range(80, 100)


@pytest.mark.parametrize(("l1", "apart"), [(12_000, False), (8_000, True)])
def test_what_does_not_fit_comes_in_parts(l1: int, apart: bool) -> None:
    graph = network(KINDS[0], steps=40, hidden=24 if apart else 16)
    lowered = pipeline.stage(graph, "siracusa", "lowered")
    changed = refit_tiles(lowered, targets.find("siracusa"), Settings(l1=l1))
    found = [node for node in changed.nodes if isinstance(node.op, Cells)]
    assert len(found) == 40 if apart else 1 < len(found) < 10
    check(graph, changed)
