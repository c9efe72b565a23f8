"""A constant that is added to a matrix product becomes part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops._linear import total_dtype
from tilewright.ops.add import Add
from tilewright.ops.matmul import MatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.patterns.attention import HIDING
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_fuse, graph))


def _fuse(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _product_and_bias(graph, node)
    if found is None:
        return None
    source, bias = found
    values, dtype = graph.constants[bias], total_dtype(graph.types[source.inputs[0]].dtype)
    constant = bias if values.dtype == dtype else builder.constant(values.astype(dtype), bias)
    builder.add(source.op, [*source.inputs[:2], constant], node.outputs, source.name)
    return {name: name for name in node.outputs}


def _product_and_bias(graph: Graph, node: Node) -> tuple[Node, str] | None:
    """The product that an Add adds a constant to, and the constant, if the product takes it."""
    for product, bias in (node.inputs, node.inputs[::-1]) if isinstance(node.op, Add) else ():
        source, values = graph.producers.get(product), graph.constants.get(bias)
        if source is not None and values is not None and _takes_bias(graph, source, node, values):
            return source, bias
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
        and not _is_mask(values)
    )


def _is_mask(values: Array) -> bool:
    """What hides scores belongs to an attention, which is fused later."""
    return values.dtype.kind == "f" and bool(np.any(values <= HIDING))


def no_added_biases(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if (found := _product_and_bias(graph, node)) is not None:
            yield node.where, f"adds the constant '{found[1]}' to {found[0].where}, which could do so itself"


FUSE_BIAS = Pass("fuse biases", run, ensures=no_added_biases)
