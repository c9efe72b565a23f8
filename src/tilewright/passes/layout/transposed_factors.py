"""Products of bytes read a second factor that is only transposed as it was before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops._linear import NARROW
from tilewright.ops.matmul import MatMul
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    def read_transposed(node: Node, builder: Builder) -> dict[str, str] | None:
        factor = _transposed_factor(graph, node)
        if factor is None or not isinstance(node.op, MatMul):
            return None
        op = replace(node.op, trans_b=not node.op.trans_b)
        builder.add(op, [node.inputs[0], factor.inputs[0], *node.inputs[2:]], node.outputs, node.name)
        return {node.key: node.key}

    return rewrite(graph, read_transposed)


def _transposed_factor(graph: Graph, node: Node) -> Node | None:
    """What exchanges the last two axes of the second factor."""
    if not isinstance(node.op, MatMul) or node.op.perm_b or graph.types[node.inputs[1]].dtype not in NARROW:
        return None
    factor = graph.producers.get(node.inputs[1])
    if factor is None or not isinstance(factor.op, Transpose):
        return None
    *outer, row, column = range(len(factor.op.perm))
    return factor if factor.op.perm == (*outer, column, row) else None


def none_transposed(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _transposed_factor(graph, node) is not None:
            yield node.where, "multiplies with what is only transposed"


TRANSPOSED_FACTORS = Pass("transposed factors", run, ensures=none_transposed)
