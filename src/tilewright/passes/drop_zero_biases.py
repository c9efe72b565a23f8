"""A bias of nothing but zeros is none: kernels then need neither fetch it nor look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

BIAS = 2
"""Where products and convolutions have it."""


def run(graph: Graph) -> Graph:
    return rewrite(graph, lambda node, builder: _drop(graph, node, builder))


def _drop(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _has_zero_bias(graph, node):
        return None
    (result,) = builder.add(node.op, [*node.inputs[:BIAS], "", *node.inputs[BIAS + 1 :]], node.outputs, node.name)
    return {node.key: result}


def _has_zero_bias(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, MatMul | Conv) or len(node.inputs) <= BIAS:
        return False
    bias = graph.constants.get(node.inputs[BIAS])
    # A float's zero is not nothing: it turns -0 into +0.
    return bias is not None and bias.dtype.kind in "iu" and not np.any(bias)


def no_zero_biases(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _has_zero_bias(graph, node):
            yield node.where, f"has the bias '{node.inputs[BIAS]}' of nothing but zeros"


DROP_ZERO_BIASES = Pass("drop zero biases", run, ensures=no_zero_biases)
