"""Constant factors of products of floats are stored with columns side by side, as streams of two columns read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.matmul import MatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    stored: dict[str, str] = {}

    def turn(node: Node, builder: Builder) -> Mapping[str, str] | None:
        if not _is_turned(graph, node):
            return None
        a, b, *rest = node.inputs
        if b not in stored:
            stored[b] = builder.constant(graph.constants[b].swapaxes(-1, -2).copy(), b)
        op = replace(cast(MatMul, node.op), trans_b=False)
        builder.add(op, [a, stored[b], *rest], node.outputs, node.name)
        return {name: name for name in node.outputs}

    return rewrite(graph, turn)


def _is_turned(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, MatMul) or not op.trans_b or op.perm_b or node.inputs[1] not in graph.constants:
        return False
    kind = graph.types[node.inputs[1]]
    return kind.dtype == "float32" and len(kind.shape) > 1


def side_by_side(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_turned(graph, node):
            yield node.where, "multiplies a constant whose columns are not side by side"


COLUMNS_SIDE_BY_SIDE = Pass("columns side by side", run, ensures=side_by_side)
