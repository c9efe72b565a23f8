"""int8 with the zero -128 becomes uint8 where a window lies over an edge, and only if everything around it can."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.small import Small, changed_by, integers
from tilewright.ir.graph import Graph
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ops.abs import Abs
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.transpose import Transpose
from tilewright.passes.int8_to_uint8 import INT8_TO_UINT8

RECTIFIED = full_range(9, "int8", -128)


def conv(small: Small, x: str, padding: int = 1, zero: int = -128) -> str:
    weights = small.constant(integers("int8", 4, small.shape(x)[1], 3, 3))
    mul = small.constant(integers("int32", 4, low=1, high=9))
    return small.add(Conv(padding=(padding,) * 4, x_zero=zero, requant=RECTIFIED), x, weights, "", mul)


def types(graph: Graph) -> set[str]:
    return {graph.types[node.key].dtype for node in graph.nodes if node.key not in graph.outputs}


def image() -> tuple[Small, str]:
    small = Small()
    return small, conv(small, small.input("x", 1, 3, 6, 6), zero=5)


def test_a_chain() -> None:
    small, x = image()
    assert types(changed_by(small.graph(conv(small, conv(small, x))), INT8_TO_UINT8)) == {"uint8"}


def test_what_moves_and_adds() -> None:
    small, x = image()
    y = small.add(MaxPool((1, 1), (1, 1), (1, 1, 1, 1), (3, 3)), x)
    joined = small.add(Concat(axis=1), x, y)
    total = small.add(QLinearAdd(300, 200, 5, full_range(9, "int8", -128)), conv(small, joined), x)
    mean = small.add(QLinearReduceMean((2, 3), True, -128, 1000, full_range(10, "int8", 3, Rounding.HALF_EVEN)), total)
    graph = changed_by(small.graph(conv(small, total), mean), INT8_TO_UINT8)
    assert {graph.types[name].dtype for name in (x, y, joined, total)} == {"uint8"}


def plain_conv(small: Small, x: str) -> str:
    """Not rectified, as before a residual sum."""
    weights = small.constant(integers("int8", 4, small.shape(x)[1], 3, 3))
    mul = small.constant(integers("int32", 4, low=1, high=9))
    op = Conv(padding=(1,) * 4, x_zero=-128, requant=full_range(9, "int8", 5))
    return small.add(op, x, weights, "", mul)


def test_what_is_added_to_an_image() -> None:
    small, x = image()
    added = plain_conv(small, x)
    total = small.add(QLinearAdd(300, 200, 5, full_range(9, "int8", -128)), added, x)
    graph = changed_by(small.graph(conv(small, total)), INT8_TO_UINT8)
    assert {graph.types[name].dtype for name in (x, added, total)} == {"uint8"}


@pytest.mark.parametrize("case", ["signed sums", "another reader"])
def test_what_is_added_and_stays(case: str) -> None:
    small, x = image()
    added = plain_conv(small, x)
    other = plain_conv(small, x) if case == "signed sums" else x
    total = small.add(QLinearAdd(300, 200, 5, full_range(9, "int8", 3)), added, other)
    outputs = [total] if case == "signed sums" else [total, small.add(Abs(), added)]
    graph = changed_by(small.graph(*outputs), INT8_TO_UINT8)
    assert graph.types[added].dtype == "int8"


def test_transposed() -> None:
    small, x = image()
    turned = small.add(Transpose((0, 1, 3, 2)), x)
    assert types(changed_by(small.graph(conv(small, turned)), INT8_TO_UINT8)) == {"uint8"}


@pytest.mark.parametrize("case", ["output", "reader", "no padding", "another zero"])
def test_what_stays(case: str) -> None:
    small, x = image()
    padding, zero = int(case != "no padding"), -100 if case == "another zero" else -128
    outputs = [conv(small, x, padding, zero)]
    outputs += [x] if case == "output" else [small.add(Abs(), x)] if case == "reader" else []
    graph = small.graph(*outputs)
    assert changed_by(graph, INT8_TO_UINT8) is graph


def test_the_images_of_the_caller_stay() -> None:
    small = Small()
    graph = small.graph(conv(small, small.input("x", 1, 3, 6, 6)))
    assert changed_by(graph, INT8_TO_UINT8) is graph
    assert np.all(graph.types["x"].dtype == "int8")
