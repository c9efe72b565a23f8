"""Channels that sums tie together are scaled together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.quantiser.networks import Net, images
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.add import Add
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.sigmoid import Sigmoid
from tilewright.quantiser.balance import balanced
from tilewright.quantiser.links import links
from tilewright.quantiser.quantise import Options, quantise
from tilewright.quantiser.samples.samples import samples_of
from tilewright.quantiser.samples.stream import silent
from tilewright.quantiser.widths import ALL_EIGHT

ALONE = Options(processes=1)
SIZES = np.exp(2 * np.random.default_rng(5).standard_normal(8))


def pointwise(net: Net, rows: Array | float, columns: Array | float, channels: int, name: str) -> str:
    """A convolution of 1 x 1 with filters and channels of given sizes."""
    inputs = net.builder.types[net.at].shape[1]
    weights = net.random.standard_normal((channels, inputs)) / np.sqrt(inputs)
    weights = weights * np.reshape(rows, (-1, 1)) * np.reshape(columns, (1, -1))
    return net.add(Conv(), net.constant(weights[:, :, None, None]), name=name)


def residual(clipped: bool = False) -> Graph:
    """Two layers whose channels differ in size, their sum, and what reads it; readers make up for the sizes."""
    net = Net(1, 3, 8, 8, seed=4)
    first = pointwise(net, SIZES, 1.0, 8, "first")
    if clipped:
        first = net.add(Clip(0.0, 6.0))
    pointwise(net, 1.0, 1 / SIZES, 8, "inside")
    net.add(Relu())
    pointwise(net, SIZES, 1.0, 8, "second")
    net.add(Add(), first)
    pointwise(net, 1.0, 1 / SIZES, 4, "last")
    return net.graph()


def gated() -> Graph:
    """A gate times a layer whose channels differ in size, and a layer that makes up for the sizes."""
    net, size = Net(6, 8, seed=7), SIZES
    gate = net.add(Sigmoid(), of=net.dense(8, "gate"))
    weights = net.random.standard_normal((8, 8)) * size
    net.add(MatMul(), net.constant(weights), of="x", name="up")
    net.add(Mul(), gate)
    net.dense(4, "down", divided_by=size)
    return net.graph()


def names(graph: Graph) -> list[tuple[list[str], list[str]]]:
    return [
        ([maker.node.name for maker in link.makers], [reader.layer.node.name for reader in link.all_readers])
        for link in links(graph)
    ]


def test_a_sum_links_its_operands_and_its_readers() -> None:
    assert (["first", "second"], ["inside", "last"]) in [(sorted(m), sorted(r)) for m, r in names(residual())]


def test_a_clip_in_the_way_leaves_the_sum_alone() -> None:
    assert names(residual(clipped=True)) == [(["inside"], ["second"])]


@pytest.mark.in_turns(5)
def test_scaling_over_a_sum_changes_nothing_in_floats_and_much_in_integers() -> None:
    graph, data = residual(), images(24)
    made = balanced(graph, samples_of(graph, data), ALL_EIGHT, silent, 1)
    for row in data[:4]:
        wanted, got = (evaluate(one, {"x": row[None]})[one.outputs[0]] for one in (graph, made))
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)
    even, uneven = (quantise(graph, data, replace(ALONE, balance=on)).report.snr_db for on in (True, False))
    assert even > uneven + 6


def test_a_gate_lets_the_factors_of_the_other_side_pass() -> None:
    graph, data = gated(), images(24, 6, 8)
    assert names(graph) == [(["up"], ["down"])]
    made = balanced(graph, samples_of(graph, data), ALL_EIGHT, silent, 1)
    for row in data[:4]:
        wanted, got = (evaluate(one, {"x": row})[one.outputs[0]] for one in (graph, made))
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)
    even, uneven = (quantise(graph, data, replace(ALONE, balance=on)).report.snr_db for on in (True, False))
    assert even > uneven + 3
