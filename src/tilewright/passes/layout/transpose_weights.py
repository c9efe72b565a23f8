"""Constant factors of matrix products are stored so that the elements that are multiplied are neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.matmul import MatMul
from tilewright.passes import Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    stored: dict[str, str] = {}

    def turn(node: Node, builder: Builder) -> Mapping[str, str] | None:
        op, inputs = node.op, list(node.inputs)
        if not isinstance(op, MatMul):
            return None
        if op.trans_a and not op.perm_a and _is_matrix(graph, inputs[0]):
            op, inputs[0] = replace(op, trans_a=False), _turned(graph, builder, stored, inputs[0])
        if not op.trans_b and not op.perm_b and _is_matrix(graph, inputs[1]):
            op, inputs[1] = replace(op, trans_b=True), _turned(graph, builder, stored, inputs[1])
        if op == node.op:
            return None
        builder.add(op, inputs, node.outputs, node.name)
        return {name: name for name in node.outputs}

    return rewrite(graph, turn)


def _is_matrix(graph: Graph, tensor: str) -> bool:
    return tensor in graph.constants and min((0, 0, *graph.types[tensor].shape)[-2:]) > 1


def _turned(graph: Graph, builder: Builder, stored: dict[str, str], tensor: str) -> str:
    """The transposed constant; one for all that read it."""
    if tensor not in stored:
        stored[tensor] = builder.constant(graph.constants[tensor].swapaxes(-1, -2).copy(), tensor)
    return stored[tensor]


TRANSPOSE_WEIGHTS = Pass("transpose weights", run)
