"""The zero point of what a constant matrix multiplies becomes part of the bias: (A - z) @ B = A @ B - z * sum(B)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tilewright.ir import Builder, Graph, Node
from tilewright.ops._linear import centred
from tilewright.ops.matmul import MatMul
from tilewright.passes import Pass
from tilewright.passes.rewriting import rewrite
from tilewright.types import Array, limits


def run(graph: Graph) -> Graph:
    return rewrite(graph, lambda node, builder: _fold(graph, node, builder))


def _fold(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not isinstance(node.op, MatMul) or not node.op.a_zero:
        return None
    matrix, bias = graph.constants.get(node.inputs[1]), _bias(graph, node)
    if matrix is None or matrix.ndim != 2 or bias is None:
        return None
    columns = centred(matrix if node.op.trans_b else matrix.T, node.op.b_zero).astype(np.int64)
    folded = bias - node.op.a_zero * columns.sum(axis=1)
    if np.any(np.abs(columns).sum(axis=1) * _largest(graph.types[node.inputs[0]].dtype) + np.abs(folded) >= 2**31):
        return None
    constant = builder.constant(folded.astype(np.int32), f"{node.name}_bias")
    op = replace(node.op, a_zero=0)
    (result,) = builder.add(op, [*node.inputs[:2], constant, *node.inputs[3:]], node.outputs, node.name)
    return {node.key: result}


def _bias(graph: Graph, node: Node) -> Array | None:
    """One value, or one per column; None where it is computed, or differs from row to row."""
    if len(node.inputs) < 3 or not node.inputs[2]:
        return np.zeros(1, np.int64)
    bias = graph.constants.get(node.inputs[2])
    if bias is None or (bias.size > 1 and bias.shape[-1] != bias.size):
        return None
    return bias.reshape(-1).astype(np.int64)


def _largest(dtype: str) -> int:
    return max(abs(limit) for limit in limits(dtype))


FOLD_ZERO_POINTS = Pass("fold zero points", run)
