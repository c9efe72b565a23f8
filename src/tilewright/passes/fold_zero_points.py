"""The zero point of what constant weights multiply becomes part of the bias: (A - z) @ B = A @ B - z * sum(B)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, limits
from tilewright.ops._linear import centred
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, lambda node, builder: _fold(graph, node, builder))


def _fold(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    folded = _folded(graph, node)
    if folded is None:
        return None
    constant = builder.constant(folded.astype(np.int32), f"{node.name}_bias")
    inputs = [*node.inputs[:2], constant, *node.inputs[3:]]
    (result,) = builder.add(_without_zero(node.op), inputs, node.outputs, node.name)
    return {node.key: result}


def _folded(graph: Graph, node: Node) -> Array | None:
    """The bias with the zero point in it; None where there is none, or totals could exceed 32 bits."""
    zero = _zero(node)
    weights, bias = (_weights(graph, node), _bias(graph, node)) if zero else (None, None)
    if weights is None or bias is None:
        return None
    folded: Array = bias - zero * weights.sum(axis=1)
    largest = np.abs(weights).sum(axis=1) * _largest(graph.types[node.inputs[0]].dtype) + np.abs(folded)
    return None if np.any(largest >= 2**31) else folded


def _without_zero(op: Op) -> Op:
    if isinstance(op, Conv):
        return replace(op, x_zero=0)
    return replace(instance(op, MatMul), a_zero=0)


def _zero(node: Node) -> int:
    """Where there is padding, it is the zero point: that of the operand has to stay."""
    if isinstance(node.op, Conv):
        return 0 if any(node.op.padding) else node.op.x_zero
    return node.op.a_zero if isinstance(node.op, MatMul) else 0


def _weights(graph: Graph, node: Node) -> Array | None:
    """What each result is a sum of products with, one row for each of them."""
    constant = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    if constant is None:
        return None
    if isinstance(node.op, Conv):
        return centred(constant, node.op.w_zero).astype(np.int64).reshape(constant.shape[0], -1)
    if not isinstance(node.op, MatMul) or constant.ndim != 2:
        return None
    return centred(constant if node.op.trans_b else constant.T, node.op.b_zero).astype(np.int64)


def _bias(graph: Graph, node: Node) -> Array | None:
    """One value, or one per column or filter; None where it is computed, or differs from row to row."""
    if len(node.inputs) < 3 or not node.inputs[2]:
        return np.zeros(1, np.int64)
    bias = graph.constants.get(node.inputs[2])
    if bias is None or (bias.size > 1 and bias.shape[-1] != bias.size):
        return None
    return bias.reshape(-1).astype(np.int64)


def _largest(dtype: str) -> int:
    return max(abs(limit) for limit in limits(dtype))


def no_zero_points(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _folded(graph, node) is not None:
            yield node.where, f"has the zero point {_zero(node)}, which its bias could have"


FOLD_ZERO_POINTS = Pass("fold zero points", run, ensures=no_zero_points)
