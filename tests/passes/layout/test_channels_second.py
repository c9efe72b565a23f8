"""Convolutions with channels last get channels second where that is worth its Transposes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.passes.layout.test_channels_last import SAME, SUM, Images
from tests.passes.small import changed_by, integers, kinds, transposed_bytes
from tilewright.ir.graph import Graph
from tilewright.ops._windows import Windowed
from tilewright.ops.conv import Conv
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.passes.layout.channels_second import CHANNELS_SECOND


class LastImages(Images):
    """Images with channels last."""

    def conv(self, x: str, filters: int, op: Conv = SAME, taps: int = 3) -> str:
        weights = self.constant(integers("int8", filters, taps, taps, self.shape(x)[3] // op.groups))
        factors = [self.constant(integers("int32", filters, low=1, high=99)) for _ in range(2)]
        return self.builder.add(replace(op, channels_last=True), [x, weights, "", *factors])[0]


def seconds(graph: Graph) -> list[bool]:
    return [not node.op.channels_last for node in graph.nodes if isinstance(node.op, Windowed)]


@pytest.mark.fast
def test_only_the_boundary_is_transposed() -> None:
    """Sums and pools go with the convolutions around them, and a mean at the end leaves nothing to transpose."""
    images = LastImages()
    x = images.conv(images.input("x", 1, 6, 6, 3), 8)
    x = images.add(SUM, x, images.conv(images.conv(x, 8, replace(SAME, groups=8)), 8))
    x = images.add(MaxPool((2, 2), kernel=(2, 2), channels_last=True), x)
    changed = changed_by(images.graph(images.add(ReduceMax((1, 2), True), x)), CHANNELS_SECOND)
    assert seconds(changed) == [True] * 4
    assert kinds(changed).count("Transpose") == 1
    assert transposed_bytes(changed) == 3 * 36


@pytest.mark.fast
def test_small_convolutions_are_not_worth_it() -> None:
    images = LastImages()
    point = images.conv(images.input("x", 1, 6, 6, 4), 4, replace(SAME, padding=(0, 0, 0, 0)), 1)
    graph = images.graph(point)
    assert seconds(changed_by(graph, CHANNELS_SECOND)) == [False]


@pytest.mark.fast
def test_tensors_of_one_axis_beside_images() -> None:
    images = LastImages()
    x = images.conv(images.conv(images.input("x", 1, 6, 6, 8), 8), 8)
    row = images.add(Relu(), images.input("row", 8, dtype="float32"))
    changed = changed_by(images.graph(x, row, images.add(Reshape(()), images.input("one", 1))), CHANNELS_SECOND)
    assert seconds(changed) == [True, True]


@pytest.mark.fast
def test_wide_integers_and_pools_alone_stay() -> None:
    images = LastImages()
    x = images.add(MaxPool((2, 2), kernel=(2, 2), channels_last=True), images.input("x", 1, 6, 6, 4))
    weights = images.constant(integers("int8", 8, 3, 3, 9))
    wide = images.input("wide", 1, 9, 9, 9, dtype="int16")
    y = images.add(Conv(padding=(1, 1, 1, 1), channels_last=True), wide, weights)
    graph = images.graph(x, y)
    assert CHANNELS_SECOND.run(graph) is graph


@pytest.mark.fast
def test_there_and_back() -> None:
    images = Images()
    x = images.conv(images.conv(images.input("x", 1, 8, 7, 6), 8), 8, replace(SAME, groups=8))
    changed = changed_by(images.graph(images.conv(x, 8)), CHANNELS_LAST, CHANNELS_SECOND)
    assert kinds(changed) == ["Conv"] * 3
    assert seconds(changed) == [True] * 3
