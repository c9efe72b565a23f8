"""Constant factors of matrix products are stored so that the elements that are multiplied are neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.matmul import MatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    stored: dict[str, str] = {}

    def turn(node: Node, builder: Builder) -> Mapping[str, str] | None:
        op, inputs = node.op, list(node.inputs)
        if not isinstance(op, MatMul):
            return None
        if _is_turned_a(graph, op, inputs):
            op, inputs[0] = replace(op, trans_a=False), _turned(graph, builder, stored, inputs[0])
        if _is_turned_b(graph, op, inputs):
            op, inputs[1] = replace(op, trans_b=True), _turned(graph, builder, stored, inputs[1])
        if op == node.op:
            return None
        builder.add(op, inputs, node.outputs, node.name)
        return {name: name for name in node.outputs}

    return rewrite(graph, turn)


def _is_turned_a(graph: Graph, op: MatMul, inputs: Sequence[str]) -> bool:
    return op.trans_a and not op.perm_a and _is_matrix(graph, inputs[0])


def _is_turned_b(graph: Graph, op: MatMul, inputs: Sequence[str]) -> bool:
    return not op.trans_b and not op.perm_b and _is_matrix(graph, inputs[1])


def _is_matrix(graph: Graph, tensor: str) -> bool:
    return tensor in graph.constants and min((0, 0, *graph.types[tensor].shape)[-2:]) > 1


def _turned(graph: Graph, builder: Builder, stored: dict[str, str], tensor: str) -> str:
    """The transposed constant; one for all that read it."""
    if tensor not in stored:
        stored[tensor] = builder.constant(graph.constants[tensor].swapaxes(-1, -2).copy(), tensor)
    return stored[tensor]


def neighbours(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        for is_turned in (_is_turned_a, _is_turned_b):
            if isinstance(node.op, MatMul) and is_turned(graph, node.op, node.inputs):
                yield node.where, "multiplies elements of a constant that are not neighbours"


TRANSPOSE_WEIGHTS = Pass("transpose weights", run, ensures=neighbours)
