"""Zero points disappear into the bias of products with constant matrices, and only there."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from tests.passes.small import Small, changed_by, integers
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes.fold_zero_points import FOLD_ZERO_POINTS, run


def product(op: MatMul, matrix: Array, bias: Array | None = None, *shape: int) -> Graph:
    small = Small()
    operands = [small.input("x", *(shape or (3, 12))), small.constant(matrix)]
    return small.graph(small.add(op, *operands, *([] if bias is None else [small.constant(bias)])))


def zero_point(graph: Graph) -> int:
    (node,) = graph.nodes
    assert isinstance(node.op, MatMul)
    return node.op.a_zero


@pytest.mark.parametrize("bias", [None, integers("int32", 1), integers("int32", 5), integers("int32", 1, 5)])
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("b_zero", [0, 7])
def test_it_becomes_part_of_the_bias(trans_b: bool, b_zero: int, bias: Array | None) -> None:
    matrix = integers("int8", *((5, 12) if trans_b else (12, 5)))
    op = MatMul(trans_b=trans_b, a_zero=-128, b_zero=b_zero)
    assert zero_point(changed_by(product(op, matrix, bias), FOLD_ZERO_POINTS)) == 0


def test_of_a_batch_of_rows() -> None:
    graph = product(MatMul(a_zero=5), integers("int8", 12, 5), None, 2, 4, 12)
    assert zero_point(changed_by(graph, FOLD_ZERO_POINTS)) == 0


def test_it_stays_where_the_matrix_is_computed() -> None:
    small = Small()
    graph = small.graph(small.add(MatMul(a_zero=3), small.input("x", 3, 12), small.input("y", 12, 5)))
    assert zero_point(changed_by(graph, FOLD_ZERO_POINTS)) == 3


def test_it_stays_where_matrices_or_biases_differ_from_row_to_row() -> None:
    matrices = product(MatMul(a_zero=3), integers("int8", 3, 12, 5), None, 3, 2, 12)
    biases = product(MatMul(a_zero=3), integers("int8", 12, 5), integers("int32", 3, 1))
    assert [zero_point(changed_by(graph, FOLD_ZERO_POINTS)) for graph in (matrices, biases)] == [3, 3]


def test_it_stays_where_the_bias_would_overflow() -> None:
    bias = np.full(5, 2**31 - 100, np.int32)
    graph = product(MatMul(a_zero=3), integers("int8", 12, 5, low=-9, high=-1), bias)
    assert zero_point(changed_by(graph, FOLD_ZERO_POINTS)) == 3


def convolved(op: Conv) -> Graph:
    small = Small()
    weights = small.constant(integers("int8", 4, 3, 2, 5))
    return small.graph(small.add(op, small.input("x", 1, 6, 6, 5), weights, small.constant(integers("int32", 4))))


@pytest.mark.parametrize("w_zero", [0, 7])
def test_of_convolutions_without_padding(w_zero: int) -> None:
    after = changed_by(convolved(Conv(x_zero=-128, w_zero=w_zero, channels_last=True)), FOLD_ZERO_POINTS)
    assert cast(Conv, after.nodes[0].op).x_zero == 0


def test_padding_keeps_it() -> None:
    graph = convolved(Conv(padding=(1, 0, 1, 0), x_zero=-128, channels_last=True))
    assert run(graph).nodes[0].op == graph.nodes[0].op
