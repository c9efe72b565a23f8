"""Sums in parts give the same bits as whole ones."""

from __future__ import annotations

import pytest

from tests.passes.small import Small, changed_by, integers, kinds
from tilewright.ir.graph import Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ops.cast import Cast
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes import Pass
from tilewright.passes.fit.split_sums import most_parts, split_sums

pytestmark = pytest.mark.fast


def in_parts(graph: Graph, count: int) -> list[str]:
    sums = {node.key: count for node in graph.nodes if node.op.multiplies}
    return kinds(changed_by(graph, Pass("split", lambda graph: split_sums(graph, sums))))


def scaled(small: Small, op: Op, inputs: list[str], filters: int) -> Graph:
    """The operator with a bias and a factor for each filter."""
    more = [small.constant(integers("int32", filters) % bound) for bound in (3000, 50, 9000)]
    return small.graph(small.add(op, *inputs, *more))


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products(count: int, dtype: str) -> None:
    small = Small()
    a, b = small.input("a", 5, 37, dtype=dtype), small.constant(integers("int8", 9, 37))
    op = MatMul(trans_b=True, a_zero=3, requant=full_range(14, "int8"))
    found = in_parts(scaled(small, op, [a, b], 9), count)
    assert found.count("MatMul") == count
    assert "RequantShift" not in found


@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_activations(transposed: bool) -> None:
    small = Small()
    a = small.input("a", 2, *((16, 5) if transposed else (5, 16)))
    graph = small.graph(small.add(MatMul(trans_a=transposed), a, small.input("b", 2, 16, 6)))
    assert in_parts(graph, 2).count("Slice") == 4


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("requantised", [False, True])
def test_convolutions(last: bool, requantised: bool) -> None:
    small = Small()
    x = small.input("x", 1, *((7, 6, 12) if last else (12, 7, 6)), dtype="uint8")
    w = small.constant(integers("int8", 5, *((3, 3, 12) if last else (12, 3, 3))))
    op = Conv((2, 1), (1, 1), (1, 1, 1, 1), x_zero=9, channels_last=last)
    if not requantised:
        assert in_parts(small.graph(small.add(op, x, w)), 3).count("Conv") == 3
        return
    graph = scaled(small, Conv(**{**op.attributes(), "requant": full_range(12, "uint8")}), [x, w], 5)
    assert in_parts(graph, 3).count("Conv") == 3


def test_convolutions_in_a_row() -> None:
    """What the second one reads is what the first one's parts become."""
    small = Small()
    x, w = small.input("x", 1, 8, 6, 6), small.constant(integers("float32", 8, 8, 3, 3))
    first = small.add(Conv(), small.add(Cast("float32"), x), w)
    assert in_parts(small.graph(small.add(Conv(), first, w)), 2).count("Conv") == 4


def test_parts_of_parts() -> None:
    small = Small()
    graph = small.graph(small.add(MatMul(), small.input("a", 5, 32), small.input("b", 32, 6)))
    halved = Pass("halve", lambda graph: split_sums(graph, {n.key: 2 for n in graph.nodes if n.op.multiplies}))
    found = changed_by(graph, halved, halved)
    assert kinds(found).count("Slice") == 8
    assert all(node.inputs[0] in graph.inputs for node in found.nodes if node.op.kind == "Slice")


@pytest.mark.parametrize("factors", [1, 5])
def test_convolutions_that_add_nothing(factors: int) -> None:
    small = Small()
    x, w = small.input("x", 1, 7, 6, 12), small.constant(integers("int8", 5, 3, 3, 12))
    bias, mul = (small.constant(integers("int32", size) % 50) for size in (5, factors))
    op = Conv((1, 1), (1, 1), (1, 1, 1, 1), channels_last=True, requant=full_range(12, "int8"))
    assert in_parts(small.graph(small.add(op, x, w, bias, mul)), 3).count("Conv") == 3


@pytest.mark.parametrize("count", [2, 3])
def test_floats(count: int) -> None:
    """The order of additions is another: whole numbers do not mind."""
    small = Small()
    a, b = small.input("a", 5, 24, dtype="float32"), small.input("b", 24, 6, dtype="float32")
    c = small.constant(integers("int8", 6).astype("float32"))
    graph = small.graph(small.add(MatMul(alpha=0.5, beta=2.0), a, b, c))
    assert most_parts(graph, graph.nodes[0]) == 6
    assert in_parts(graph, count).count("MatMul") == count
    small = Small()
    x, w = (
        small.input("x", 1, 12, 7, 6, dtype="float32"),
        small.constant(integers("int8", 5, 12, 3, 3).astype("float32")),
    )
    assert in_parts(small.graph(small.add(Conv(), x, w)), count).count("Conv") == count


def test_what_cannot_be_split() -> None:
    small = Small()
    wide = small.graph(
        small.add(MatMul(), small.input("a", 4, 8, dtype="int32"), small.input("b", 8, 4, dtype="int32"))
    )
    assert most_parts(wide, wide.nodes[0]) == 1
