"""The reference: all tensors, or the outputs alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.small import Small
from tilewright.ir.evaluate import evaluate, evaluate_outputs
from tilewright.ir.graph import Graph
from tilewright.ops.add import Add
from tilewright.ops.relu import Relu


def with_a_tensor_read_twice() -> Graph:
    small = Small()
    x = small.input("x", 3, 4, dtype="float32")
    first = small.add(Relu(), x)
    second = small.add(Add(), first, x)
    return small.graph(first, small.add(Add(), second, first))


def test_outputs_are_those_of_all_tensors() -> None:
    graph = with_a_tensor_read_twice()
    feeds = {"x": np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)}
    wanted, found = evaluate(graph, feeds), evaluate_outputs(graph, feeds)
    assert tuple(found) == graph.outputs
    for name, value in found.items():
        np.testing.assert_array_equal(value, wanted[name])


def test_no_tensor_is_held_longer_than_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.ir import evaluate as module

    graph, seen = with_a_tensor_read_twice(), []
    own = module.evaluate_node
    monkeypatch.setattr(
        module, "evaluate_node", lambda g, node, values: (seen.append(set(values)), own(g, node, values))[1]
    )
    evaluate_outputs(graph, {"x": np.ones((3, 4), np.float32)})
    assert "x" in seen[1]
    assert "x" not in seen[2]
