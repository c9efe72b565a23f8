"""A bias of nothing but zeros is none: kernels then need neither fetch it nor look at it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes import Pass
from tilewright.passes.rewriting import rewrite

BIAS = 2
"""Where products and convolutions have it."""


def run(graph: Graph) -> Graph:
    return rewrite(graph, lambda node, builder: _drop(graph, node, builder))


def _drop(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not isinstance(node.op, MatMul | Conv) or len(node.inputs) <= BIAS:
        return None
    bias = graph.constants.get(node.inputs[BIAS])
    # A float's zero is not nothing: it turns -0 into +0.
    if bias is None or bias.dtype.kind not in "iu" or np.any(bias):
        return None
    (result,) = builder.add(node.op, [*node.inputs[:BIAS], "", *node.inputs[BIAS + 1 :]], node.outputs, node.name)
    return {node.key: result}


DROP_ZERO_BIASES = Pass("drop zero biases", run)
