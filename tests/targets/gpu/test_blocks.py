"""Weights in blocks on the GPU: kernels of every format as C of this machine, and what is joined around them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.random import default_rng

from tests.support.block_cases import blocks
from tests.support.checks import check_graph
from tilewright import pipeline
from tilewright.ir.block_formats import FORMATS as KNOWN
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.add import Add
from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import OF_FLOATS, BlockMatMul
from tilewright.ops.mul import Mul
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.swish import Swish
from tilewright.targets.gpu.block_forms import FORMATS

ROUNDING = 2e-5
"""Of sums of floats, of the largest result."""


class Blocks:
    """A network with weights in blocks of a format."""

    def __init__(self, name: str, rows: int, inner: int) -> None:
        self.builder, self.random, self.format = Builder("blocks"), default_rng(3), name
        self.x = self.builder.input("x", TensorType("float32", (1, rows, inner)))
        self.feeds: dict[str, Array] = {"x": self.random.standard_normal((1, rows, inner)).astype(np.float32)}

    def product(self, x: str, columns: int, has_bias: bool = False) -> str:
        inner = self.builder.type_of(x).shape[-1]
        weights = self.builder.constant(blocks(self.random, self.format, columns, inner, 0.1))
        bias = self.random.standard_normal(columns).astype(np.float32)
        added = [self.builder.constant(bias)] if has_bias else []
        return self.builder.add(BlockMatMul(self.format, OF_FLOATS), [x, weights, *added])[0]

    def add(self, op: object, *inputs: str) -> str:
        return self.builder.add(op, inputs)[0]  # type: ignore[arg-type]


def layer(name: str, rows: int, inner: int) -> tuple[Graph, dict[str, Array]]:
    """As a decoder has it: normalised rows, three projections, a gate and what it gates, a residual; a lookup."""
    net = Blocks(name, rows, inner)
    scale = net.builder.constant(net.random.uniform(0.5, 1.5, inner).astype(np.float32))
    rows_of = net.add(RMSNormalization(-1, 1e-5), net.x, scale)
    for columns, has_bias in ((40, True), (7, False), (1, True)):
        net.builder.output(net.product(rows_of, columns, has_bias))
    gated = net.add(Mul(), net.add(Swish(), net.product(net.x, 96, True)), net.product(net.x, 96))
    again = net.add(RMSNormalization(-1, 1e-5), gated, net.builder.constant(np.ones(96, np.float32)))
    inner_blocks = 96 if KNOWN[name].elements < 256 else 256
    if inner_blocks == 96:
        net.builder.output(net.add(Add(), net.x, net.product(again, inner, True)))
    else:
        net.builder.output(gated)
        net.builder.output(net.add(Add(), net.x, net.product(net.x, inner, True)))
    indices = net.builder.input("indices", TensorType("int32", (1, 5)))
    net.feeds["indices"] = np.array([[0, -1, 3, 9, -9]], np.int32)
    table = net.builder.constant(blocks(net.random, name, 6, inner))
    net.builder.output(net.add(BlockGather(name), table, indices))
    return net.builder.build(), net.feeds


def kinds(graph: Graph) -> Counter[str]:
    return Counter(f"{layer.engine} {layer.node.op.kind}" for layer in pipeline.prediction(graph, "gpu").layers)


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("name", FORMATS)
def test_one_row(name: str) -> None:
    graph, feeds = layer(name, 1, max(KNOWN[name].elements, 96))
    found = kinds(graph)
    assert not any(one.startswith("cpu") for one in found)
    assert (found["gpu Projections"], found["gpu SummedBlockProduct"], found["gpu RowsOfBlocks"]) == (2, 1, 1)
    check_graph(graph, feeds, ROUNDING, is_quick=True, target="gpu")


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("name", FORMATS)
def test_several_rows(name: str) -> None:
    graph, feeds = layer(name, 5, max(KNOWN[name].elements, 96))
    assert not any(one.startswith("cpu") for one in kinds(graph))
    check_graph(graph, feeds, ROUNDING, is_quick=True, target="gpu")


def test_tiles_and_chunks() -> None:
    """More rows and columns than a tile has; rows that do not fit shared memory at once."""
    for rows, inner, columns in ((70, 64, 130), (1, 8192 + 64, 5), (1, 20000 // 32 * 32, 3)):
        net = Blocks("Q4_0", rows, inner)
        net.builder.output(net.product(net.x, columns))
        check_graph(net.builder.build(), net.feeds, ROUNDING, is_quick=True, target="gpu")
