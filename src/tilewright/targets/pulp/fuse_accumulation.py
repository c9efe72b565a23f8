"""A choice between a gradient and its sum with a buffer becomes one operator, which reads both once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops._elementwise import FLOATS
from tilewright.ops.add import Add
from tilewright.ops.where import Where
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.targets.pulp.accumulation_operator import Accumulation


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_replaced, graph))


def _replaced(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    inputs = _operands(graph, node)
    if inputs is None:
        return None
    builder.add(Accumulation(), inputs, node.outputs, node.name)
    return {name: name for name in node.outputs}


def _operands(graph: Graph, node: Node) -> tuple[str, str, str] | None:
    """The condition, the gradient and the buffer; None where a node is no such choice."""
    if not isinstance(node.op, Where) or graph.types[node.inputs[0]].elements != 1:
        return None
    condition, gradient, total = node.inputs
    source = graph.producers.get(total)
    if source is None or not isinstance(source.op, Add) or not is_only_reader(graph, node, total):
        return None
    kind = graph.types[node.key]
    if kind.dtype not in FLOATS or any(graph.types[name] != kind for name in (gradient, *source.inputs)):
        return None
    first, second = source.inputs
    if gradient not in (first, second):
        return None
    return condition, gradient, second if gradient == first else first


def all_fused(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _operands(graph, node) is not None:
            yield node.where, "is a sum that begins or goes on, which one kernel could compute"


FUSE_ACCUMULATION = Pass("sums of gradients in one", run, ensures=all_fused)
