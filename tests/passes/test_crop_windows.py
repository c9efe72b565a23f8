"""Taps that see nothing but padding are left out, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from tests.passes.small import Small, changed_by, integers
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ops.conv import Conv
from tilewright.passes.crop_windows import CROP_WINDOWS

pytestmark = pytest.mark.fast


def conv(size: tuple[int, int], kernel: tuple[int, int], op: Conv, channels: int = 2) -> Graph:
    small = Small()
    weights = small.constant(integers("int8", 4 * op.groups, channels // op.groups, *kernel))
    return small.graph(small.add(op, small.input("x", 1, channels, *size), weights))


def kernel_of(graph: Graph) -> tuple[int, ...]:
    (node,) = graph.nodes
    return graph.types[node.inputs[1]].shape[2:]


@pytest.mark.parametrize(
    ("size", "kernel", "op", "wanted"),
    [
        ((12, 12), (3, 3), Conv((1, 1), (36, 36), (36, 36, 36, 36)), (1, 1)),
        ((2, 2), (5, 5), Conv((1, 1), (1, 1), (2, 2, 2, 2)), (3, 3)),
        ((1, 6), (3, 3), Conv((1, 1), (1, 1), (1, 1, 1, 1)), (1, 3)),
        ((12, 12), (3, 3), Conv((1, 1), (11, 11), (11, 11, 11, 11)), (3, 3)),
        ((1, 1), (4, 4), Conv((2, 2), (1, 1), (1, 1, 2, 2)), (1, 1)),
    ],
    ids=["dilated beyond the image", "two pixels", "one row", "one pixel is seen", "even"],
)
def test_cropped(size: tuple[int, int], kernel: tuple[int, int], op: Conv, wanted: tuple[int, int]) -> None:
    graph = conv(size, kernel, op)
    assert kernel_of(changed_by(graph, CROP_WINDOWS) if kernel != wanted else CROP_WINDOWS.run(graph)) == wanted


def test_any_window_computes_the_same() -> None:
    random, changed = default_rng(4), 0
    for _ in range(300):
        size, kernel = (tuple(map(int, random.integers(1, high, 2))) for high in (7, 6))
        pairs = [
            tuple(map(int, random.integers(low, high, count))) for low, high, count in ((1, 5, 2), (1, 8, 2), (0, 9, 4))
        ]
        op = Conv(*pairs, groups=int(random.integers(1, 3)))
        try:
            graph = conv(size, kernel, op)
        except CompileError:
            continue
        cropped = CROP_WINDOWS.run(graph)
        feeds = {"x": integers("int8", *graph.types["x"].shape)}
        wanted, found = (evaluate(one, feeds)[one.outputs[0]] for one in (graph, cropped))
        np.testing.assert_array_equal(found, wanted)
        assert not list(CROP_WINDOWS.ensures(cropped))
        changed += cropped is not graph
    assert changed > 50
