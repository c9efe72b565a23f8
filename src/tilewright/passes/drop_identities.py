"""Remove nodes that change nothing: Identity, views or casts to what a tensor already is, the absolute of shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.abs import Abs
from tilewright.ops.cast import Cast
from tilewright.ops.identity import Identity
from tilewright.ops.softmax import Softmax
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, _drop)


def _drop(node: Node, builder: Builder) -> Mapping[str, str] | None:
    if isinstance(node.op, Identity) and not node.op.copy:
        return {node.outputs[0]: node.inputs[0]}
    if (node.op.view or isinstance(node.op, Cast)) and _is_unchanged(node, builder):
        return {node.outputs[0]: node.inputs[0]}
    if isinstance(node.op, Abs) and _is_softmax(node.inputs[0], builder):
        return {node.outputs[0]: node.inputs[0]}
    return None


def _is_softmax(tensor: str, builder: Builder) -> bool:
    return any(isinstance(made.op, Softmax) and tensor in made.outputs for made in reversed(builder.nodes))


def _is_unchanged(node: Node, builder: Builder) -> bool:
    kinds = {name: builder.types[tensor] for name, tensor in node.operands().items()}
    return node.op.infer(kinds)[0] == builder.types[node.inputs[0]]


def no_identities(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if isinstance(node.op, Identity) and not node.op.copy:
            yield node.where, "is an Identity that copies nothing"


DROP_IDENTITIES = Pass("drop identities", run, ensures=no_identities)
