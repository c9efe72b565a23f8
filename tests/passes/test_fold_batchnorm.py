"""BatchNormalization disappears into constant weights, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import same
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.passes import apply
from tilewright.passes.fold_batchnorm import FOLD_BATCHNORM

pytestmark = pytest.mark.fast


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def network(op: Op, x: Shape, constants: list[Array], channels: int, also_read: bool = False) -> Graph:
    builder = Builder("network")
    source = builder.input("x", TensorType("float32", x))
    (linear,) = builder.add(op, [source, *(builder.constant(value) for value in constants)])
    norm = [floats(channels), floats(channels + 1)[1:], floats(channels), np.abs(floats(channels)) + np.float32(0.5)]
    (result,) = builder.add(BatchNormalization(0.01), [linear, *(builder.constant(value) for value in norm)])
    builder.output(result)
    if also_read:
        builder.output(builder.add(Relu(), [linear])[0])
    return builder.build()


CASES = {
    "conv": (Conv(groups=2), (2, 4, 5, 5), [floats(6, 2, 3, 3), floats(6)], 6),
    "conv, no bias": (Conv((1,), (1,), (0, 0)), (2, 3, 5), [floats(4, 3, 2)], 4),
    "transposed": (ConvTranspose(2, spatial=(6, 6)), (1, 4, 4, 4), [floats(4, 3, 3, 3), floats(6)], 6),
    "gemm": (MatMul(trans_b=True, alpha=0.5, beta=2.0), (3, 4), [floats(5, 4), floats(1, 5)], 5),
    "matmul": (MatMul(), (3, 4), [floats(4, 5)], 5),
}


@pytest.mark.parametrize("case", CASES)
def test_folds(case: str) -> None:
    graph = network(*CASES[case])
    folded = apply(graph, (FOLD_BATCHNORM,))
    assert [node.op.kind for node in folded.nodes] == [graph.nodes[0].op.kind]
    feeds = {"x": floats(*graph.types["x"].shape)}
    same(evaluate(folded, feeds)[folded.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]])


def test_leaves_what_others_read() -> None:
    graph = network(*CASES["conv"], also_read=True)
    assert [node.op.kind for node in apply(graph, (FOLD_BATCHNORM,)).nodes] == ["Conv", "BatchNormalization", "Relu"]


def test_leaves_a_bias_per_row() -> None:
    graph = network(MatMul(), (5, 4), [floats(4, 5), floats(5, 1)], 5)
    assert len(apply(graph, (FOLD_BATCHNORM,)).nodes) == 2
