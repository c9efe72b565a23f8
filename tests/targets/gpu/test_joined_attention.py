"""Attention reads queries, keys and values where one product has made them."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.ops.transpose import Transpose

TOKENS, HEADS, LENGTH = 9, 4, 16
WIDTH = HEADS * LENGTH


def attention(order: tuple[int, ...], permuted: bool) -> Graph:
    """Heads of one product: moved to the front and cut off there, or cut out of its rows; queries, keys and values are
    the parts of these numbers."""
    builder, random = Builder("heads"), np.random.default_rng(3)
    x = builder.input("x", TensorType("float32", (1, TOKENS, WIDTH)))
    weights = builder.constant(random.standard_normal((WIDTH, 3 * WIDTH)).astype(np.float32) / 8, "weights")
    (joined,) = builder(MatMul(), [x, weights])
    parts = []
    for part in order:
        if permuted:
            (split,) = builder(Reshape((1, TOKENS, 3, HEADS, LENGTH)), [joined])
            (front,) = builder(Transpose((2, 0, 3, 1, 4)), [split])
            (cut,) = builder(of_ranges((3, 1, HEADS, TOKENS, LENGTH), {0: (part, part + 1, 1)}), [front])
            (heads,) = builder(Reshape((1, HEADS, TOKENS, LENGTH)), [cut])
            parts += builder(Transpose((0, 2, 1, 3)), [heads])
        else:
            (cut,) = builder(of_ranges((1, TOKENS, 3 * WIDTH), {2: (part * WIDTH, (part + 1) * WIDTH, 1)}), [joined])
            parts += builder(Reshape((1, TOKENS, HEADS, LENGTH)), [cut])
    (y,) = builder(FusedAttention(scale=LENGTH**-0.5), parts)
    builder.output(y, "y")
    return builder.build()


def kinds(graph: Graph) -> list[str]:
    lowered: Graph = pipeline.stage(graph, "gpu", "lowered")
    return [node.op.kind for node in lowered.nodes if not node.op.view]


@pytest.mark.fast
@pytest.mark.parametrize("permuted", [False, True])
def test_heads_are_read_where_they_are(permuted: bool) -> None:
    graph = attention((0, 1, 2), permuted)
    assert kinds(graph) == ["MatMul", "JoinedAttention"]
    x = {"x": np.random.default_rng(4).standard_normal((1, TOKENS, WIDTH)).astype(np.float32)}
    lowered: Graph = pipeline.stage(graph, "gpu", "lowered")
    wanted, found = (evaluate(one, x)[one.outputs[0]] for one in (graph, lowered))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.fast
def test_heads_in_another_order_are_moved() -> None:
    assert "JoinedAttention" not in kinds(attention((1, 0, 2), True))
    assert "JoinedAttention" not in kinds(attention((0, 1, 1), False))
