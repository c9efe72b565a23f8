"""A constant that is added to a matrix product becomes part of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops._linear import total_dtype
from tilewright.ops.add import Add
from tilewright.ops.matmul import MatMul
from tilewright.passes import Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_fuse, graph))


def _fuse(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not isinstance(node.op, Add):
        return None
    for product, bias in (node.inputs, node.inputs[::-1]):
        source, values = graph.producers.get(product), graph.constants.get(bias)
        if source is None or values is None or not _takes_bias(graph, source, node, values):
            continue
        dtype = total_dtype(graph.types[source.inputs[0]].dtype)
        constant = bias if values.dtype == dtype else builder.constant(values.astype(dtype), bias)
        builder.add(source.op, [*source.inputs[:2], constant], node.outputs, source.name)
        return {name: name for name in node.outputs}
    return None


def _takes_bias(graph: Graph, source: Node, node: Node, values: Array) -> bool:
    result = graph.types[source.key]
    return (
        isinstance(source.op, MatMul)
        and source.op.requant is None
        and source.op.activation is None
        and len(source.inputs) == 2
        and is_only_reader(graph, node, source.key)
        and graph.types[node.key] == result
        and source.op.beta == 1.0
        and values.ndim <= len(result.shape)
    )


FUSE_BIAS = Pass("fuse biases", run)
