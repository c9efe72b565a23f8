"""Products of floats read a second operand column by column where a Transpose would have copied it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.matmul import MatMul
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_read, graph))


def _read(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    source = _turned(graph, node)
    if source is None or not isinstance(node.op, MatMul):
        return None
    inputs = (node.inputs[0], source, *node.inputs[2:])
    builder.add(replace(node.op, trans_b=not node.op.trans_b), inputs, node.outputs, node.name)
    return {name: name for name in node.outputs}


def _turned(graph: Graph, node: Node) -> str | None:
    """The tensor that the second operand is, but for the order of the last two axes."""
    if not isinstance(node.op, MatMul) or node.op.perm_b or graph.types[node.inputs[1]].dtype != "float32":
        return None
    maker = graph.producers.get(node.inputs[1])
    rank = len(graph.types[node.inputs[1]].shape)
    if maker is None or not isinstance(maker.op, Transpose) or rank < 2:
        return None
    return maker.inputs[0] if maker.op.perm == (*range(rank - 2), rank - 1, rank - 2) else None


def all_read(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _turned(graph, node) is not None:
            yield node.where, "multiplies with what a Transpose copies"


READ_TRANSPOSED = Pass("products read transposed operands", run, ensures=all_read)
