"""Layers in strips of rows give the same bits as whole ones, and no row is made twice."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.passes.small import Small, changed_by, integers, kinds
from tests.support.examples import examples
from tilewright.ir.graph import Graph
from tilewright.ir.requant import full_range
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.expand import Expand
from tilewright.ops.max import Max
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.neg import Neg
from tilewright.ops.placerows import PlaceRows
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass
from tilewright.passes.fit.strips import in_strips
from tilewright.tiling.strips import StripPlan, plan_strips, row_layers

pytestmark = pytest.mark.fast


def convolution(
    small: Small, x: str, filters: int, taps: int = 3, stride: int = 1, dilation: int = 1, depthwise: bool = False,
    padding: tuple[int, int, int, int] = (1, 1, 1, 1), last: bool = False,
) -> str:  # fmt: skip
    channels = small.shape(x)[-1 if last else 1]
    groups, filters = (channels, channels) if depthwise else (1, filters)
    inner = (taps, taps, channels // groups) if last else (channels // groups, taps, taps)
    weights = [small.constant(array) for array in (
        integers("int8", filters, *inner), integers("int32", filters, low=-999), integers("int32", filters, low=1),
        integers("int32", filters),
    )]  # fmt: skip
    op = Conv((stride, stride), (dilation, dilation), padding, groups, x_zero=3, requant=full_range(13, "int8"),
              channels_last=last)  # fmt: skip
    return small.add(op, x, *weights)


def plan_of(graph: Graph, count: int, axis: int = 2) -> StripPlan | None:
    layers = row_layers(graph, graph.nodes, axis)
    return None if layers is None else plan_strips(graph, layers, count)


def stripped(graph: Graph, count: int, axis: int = 2) -> Graph:
    plan = plan_of(graph, count, axis)
    assert plan is not None
    return changed_by(graph, Pass("strips", lambda graph: in_strips(graph, plan)))


@pytest.mark.in_turns(3)
@examples(60)
@given(st.data())
def test_random_chains(data: st.DataObject) -> None:
    def draw(*values: int) -> int:
        return data.draw(st.sampled_from(values))

    small, last = Small(), bool(draw(0, 1))
    height, width, channels = draw(9, 13, 20), draw(5, 8), draw(1, 3)
    x = small.input("x", 1, *((height, width, channels) if last else (channels, height, width)))
    for _ in range(draw(2, 3, 4)):
        taps, stride, dilation = draw(1, 3), draw(1, 1, 2), draw(1, 1, 2)
        pads = data.draw(st.tuples(*[st.integers(0, taps // 2 * dilation)] * 4))
        rows, columns = (small.shape(x)[at] for at in ((1, 2) if last else (2, 3)))
        reach = (taps - 1) * dilation + 1
        if min(rows + pads[0] + pads[2], columns + pads[1] + pads[3]) < reach + 2 * stride:
            break
        kind = draw(0, 1, 2, 3)
        if kind < 2:
            x = convolution(small, x, draw(2, 4), taps, stride, dilation, kind == 1, pads, last)
        elif kind == 2:
            x = small.add(MaxPool((stride, stride), (1, 1), (0, 0, 0, 0), (2, 2), channels_last=last), x)
        else:
            x = small.add(Neg(), x)
    graph, axis = small.graph(x), 1 if last else 2
    if graph.nodes:
        plan = plan_of(graph, draw(2, 3, 5), axis)
        if plan is not None:
            changed_by(graph, Pass("strips", lambda graph: in_strips(graph, plan)))


def test_branches_that_meet_again() -> None:
    """Rows of a tensor that two layers read are kept for the one that lags behind."""
    small = Small()
    x = convolution(small, small.input("x", 1, 3, 16, 7), 4)
    branch = convolution(small, convolution(small, x, 4), 4)
    graph = small.graph(convolution(small, small.add(Max(), x, branch), 2, stride=2))
    found = stripped(graph, 4)
    assert kinds(found).count("Max") == 4


def residual(small: Small, needed_later: bool) -> Graph:
    """A sum with what went into the block before; that may be needed once more."""
    x = convolution(small, small.input("x", 1, 3, 12, 7), 4)
    total = small.add(Max(), x, convolution(small, convolution(small, x, 4), 4))
    outputs = [total, small.add(Neg(), x)] if needed_later else [total]
    return small.graph(*outputs)


@pytest.mark.parametrize("needed_later", [False, True])
def test_a_sum_takes_the_place_of_what_only_it_needs(needed_later: bool) -> None:
    graph = residual(Small(), needed_later)
    layers = row_layers(graph, graph.nodes[2:4], 2)
    assert layers is not None
    plan = plan_strips(graph, layers, 4)
    assert plan is not None
    found = changed_by(graph, Pass("strips", lambda graph: in_strips(graph, plan)))
    assert ("Expand" in kinds(found)) == needed_later
    assert kinds(found).count("PlaceRows") == 4


def test_no_row_is_made_twice() -> None:
    small = Small()
    x = convolution(small, convolution(small, small.input("x", 1, 3, 24, 6), 4, depthwise=False), 4, depthwise=True)
    graph = small.graph(convolution(small, x, 5, stride=2, padding=(0, 0, 1, 1)))
    found = stripped(graph, 4)
    rows = Counter[str]()
    for node in found.nodes:
        if isinstance(node.op, Conv):
            rows[node.inputs[1]] += found.types[node.key].shape[2]
    assert list(rows.values()) == [graph.types[node.key].shape[2] for node in graph.nodes]


def test_the_whole_between_layers_is_gone() -> None:
    small = Small()
    x = convolution(small, small.input("x", 1, 3, 40, 10), 8)
    graph = small.graph(convolution(small, x, 2))
    found = stripped(graph, 8)
    whole = {name for node in found.nodes if isinstance(node.op, PlaceRows | Expand) for name in node.outputs}
    parts = {name for node in found.nodes for name in node.outputs} - whole
    assert 4 * max(found.types[name].bytes for name in parts) < graph.types[graph.nodes[0].key].bytes
    assert kinds(found).count("PlaceRows") == 8


def test_what_has_no_rows() -> None:
    small = Small()
    x = convolution(small, small.input("x", 1, 4, 8, 8), 4)
    turned = small.add(Transpose((0, 1, 3, 2)), x)
    mixed = small.graph(small.add(Concat(1), x, turned))
    assert plan_of(mixed, 2) is None
    small = Small()
    view = small.graph(small.add(Reshape((1, 2, 16, 8)), convolution(small, small.input("x", 1, 4, 8, 8), 4)))
    assert plan_of(view, 2) is None


def test_parts_of_other_axes() -> None:
    """What an operator leaves out at the start of another axis would be taken for what it reads."""
    small = Small()
    x = convolution(small, small.input("x", 1, 4, 12, 8), 4)
    assert plan_of(small.graph(small.add(Slice((0, 1, 2, 3), (1, 1, 1, 2), (1, 2, 8, 2)), x)), 2) is None
    small = Small()
    x = convolution(small, small.input("x", 1, 4, 12, 8), 4)
    stripped(small.graph(small.add(Slice((0, 0, 2, 0), (1, 1, 1, 2), (1, 2, 8, 3)), x)), 3)


def test_not_more_strips_than_rows() -> None:
    small = Small()
    graph = small.graph(small.add(Neg(), small.input("x", 1, 2, 4, 3)))
    assert plan_of(graph, 4) is not None
    assert plan_of(graph, 5) is None
