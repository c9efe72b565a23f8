"""Biases of zeros disappear, others stay."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.small import Small, changed_by, integers
from tilewright.ir.graph import Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes.drop_zero_biases import DROP_ZERO_BIASES, run

OPERATORS = (
    (MatMul(requant=full_range(10, "int8")), (3, 12), (12, 5)),
    (Conv(channels_last=True, requant=full_range(10, "int8")), (1, 4, 4, 6), (5, 1, 1, 6)),
)


def with_bias(op: Op, x: tuple[int, ...], w: tuple[int, ...], bias: Array) -> Graph:
    small = Small()
    factors = small.constant(np.array([7], np.int32))
    operands = [small.input("x", *x), small.constant(integers("int8", *w)), small.constant(bias), factors]
    return small.graph(small.add(op, *operands))


@pytest.mark.parametrize(("op", "x", "w"), OPERATORS, ids=["product", "convolution"])
def test_zeros_disappear(op: Op, x: tuple[int, ...], w: tuple[int, ...]) -> None:
    after = changed_by(with_bias(op, x, w, np.zeros(5, np.int32)), DROP_ZERO_BIASES)
    assert after.nodes[0].inputs[2] == ""


@pytest.mark.parametrize(("op", "x", "w"), OPERATORS, ids=["product", "convolution"])
def test_others_stay(op: Op, x: tuple[int, ...], w: tuple[int, ...]) -> None:
    graph = with_bias(op, x, w, np.array([0, 0, 3, 0, 0], np.int32))
    assert run(graph).nodes[0].inputs == graph.nodes[0].inputs


def test_zeros_of_floats_stay() -> None:
    small = Small()
    operands = [small.input("x", 3, 4, dtype="float32"), small.constant(np.ones((4, 5), np.float32))]
    graph = small.graph(small.add(MatMul(), *operands, small.constant(np.zeros(5, np.float32))))
    assert run(graph).nodes[0].inputs == graph.nodes[0].inputs
