"""Vectors that are divided by their length, as embeddings are, stay integers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.quantiser.networks import Net, images
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.expand import Expand
from tilewright.ops.reducel2 import ReduceL2
from tilewright.passes import apply
from tilewright.quantiser.prepare.unit_rows import FUSE_UNIT_ROWS
from tilewright.quantiser.quantise import Options, quantise


def embedding(axis: int, least: float = 1e-12) -> Graph:
    net = Net(1, 3, 6, 6)
    x = net.conv(8)
    net.add(ReduceL2((axis,), True))
    net.add(Clip(least, None))
    length = net.add(Expand(net.builder.types[x].shape))
    net.add(Div(), length, of=x)
    return net.graph()


@pytest.mark.parametrize("axis", [1, 3])
def test_they_are_a_normalisation(axis: int) -> None:
    graph = embedding(axis)
    fused = apply(graph, (FUSE_UNIT_ROWS,))
    assert not {"Div", "ReduceL2"} & {node.op.kind for node in fused.nodes}
    feeds = {"x": images(1, 3, 6, 6)}
    wanted, got = (evaluate(each, feeds)[each.outputs[0]] for each in (graph, fused))
    np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_they_are_integers() -> None:
    report = quantise(embedding(1), images(16, 3, 6, 6), Options(processes=1)).report
    assert report.floats == ()
    assert report.snr_db > 30


def test_a_bound_that_is_more_than_a_guard_is_kept() -> None:
    graph = embedding(1, 0.5)
    assert apply(graph, (FUSE_UNIT_ROWS,)).nodes == graph.nodes
