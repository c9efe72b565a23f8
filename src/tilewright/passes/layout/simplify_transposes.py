"""Fewer Transposes: two become one, those that move nothing become views, and constant weights take them over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.drop_identities import DROP_IDENTITIES
from tilewright.passes.layout.permuting import then, through_reshape
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    while (changed := DROP_IDENTITIES.run(rewrite(graph, partial(_simplify, graph)))).nodes != graph.nodes:
        graph = changed
    return graph


def _simplify(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    for rule in (_join_transposes, _join_reshapes, _into_weights):
        found = rule(graph, node, builder)
        if found is not None:
            op, inputs = found
            builder.add(op, inputs, node.outputs, node.name)
            return {name: name for name in node.outputs}
    return None


def _join_transposes(graph: Graph, node: Node, builder: Builder) -> tuple[Op, tuple[str, ...]] | None:
    """A Transpose of a Transpose, maybe with a Reshape in between; or one that moves nothing."""
    if not isinstance(node.op, Transpose):
        return None
    source = graph.producers.get(node.inputs[0])
    if source is not None and isinstance(source.op, Transpose):
        shape = graph.types[source.inputs[0]].shape
        return Transpose(then(source.op.perm, node.op.perm)).simplest(shape), source.inputs
    if source is not None and isinstance(source.op, Reshape):
        earlier = _transposed(graph, source)
        found = earlier and through_reshape(earlier[1], graph.types[earlier[0]].shape, source.op.shape)
        if earlier and found:
            blocks, perm = found
            view = builder.add(Reshape(blocks), [earlier[0]], name=source.name)
            return Transpose(then(perm, node.op.perm)).simplest(blocks), view
    simplest = node.op.simplest(graph.types[node.inputs[0]].shape)
    return None if simplest == node.op else (simplest, node.inputs)


def _join_reshapes(graph: Graph, node: Node, builder: Builder) -> tuple[Op, tuple[str, ...]] | None:
    source = graph.producers.get(node.inputs[0])
    if source is None or not isinstance(node.op, Reshape) or not isinstance(source.op, Reshape):
        return None
    return node.op, source.inputs


def _into_weights(graph: Graph, node: Node, builder: Builder) -> tuple[Op, tuple[str, ...]] | None:
    """Rows of a matrix product that are whole transposed images: the weights are put into the images' order."""
    if not isinstance(node.op, MatMul) or not takes_rows_in_any_order(graph, node, node.inputs[0]):
        return None
    source = graph.producers.get(node.inputs[0])
    earlier = _transposed(graph, source) if source is not None and isinstance(source.op, Reshape) else None
    if (
        source is None
        or earlier is None
        or not all(
            isinstance(reader.op, MatMul) and takes_rows_in_any_order(graph, reader, source.key)
            for reader in graph.consumers[source.key]
        )
    ):
        return None
    shape, perm, wanted = graph.types[earlier[0]].shape, earlier[1], graph.types[source.key].shape
    if perm[0] != 0 or wanted[:-1] != shape[:1]:
        return None
    places = np.arange(wanted[-1]).reshape(shape[1:]).transpose([axis - 1 for axis in perm[1:]]).reshape(-1)
    weights = builder.constant(_rows_moved(graph.constants[node.inputs[1]], node.op, places), node.inputs[1])
    (rows,) = builder.add(Reshape(wanted), [earlier[0]], name=source.name)
    return node.op, (rows, weights, *node.inputs[2:])


def takes_rows_in_any_order(graph: Graph, node: Node, tensor: str) -> bool:
    """Whether a matrix product can take another order of the elements of each row of its first operand."""
    op = node.op
    return (
        isinstance(op, MatMul)
        and tensor == node.inputs[0]
        and node.inputs[1] in graph.constants
        and tensor not in graph.sinks
        and not (op.trans_a or op.perm_a or op.perm_b)
    )


def _rows_moved(weights: Array, op: MatMul, places: Array) -> Array:
    """`places` says for each row which it has to meet now."""
    axis = weights.ndim - 1 if op.trans_b or weights.ndim == 1 else weights.ndim - 2
    moved = np.empty_like(weights)
    moved[(slice(None),) * axis + (places,)] = weights
    return moved


def _transposed(graph: Graph, view: Node) -> tuple[str, Shape] | None:
    """What a view shows the Transpose of, and in which order."""
    source = graph.producers.get(view.inputs[0])
    if source is None or not isinstance(source.op, Transpose):
        return None
    return source.inputs[0], source.op.perm


def no_chains(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        source = graph.producers.get(node.inputs[0]) if isinstance(node.op, Transpose) else None
        if source is not None and isinstance(source.op, Transpose):
            yield node.where, f"transposes what {source.where} transposes"


SIMPLIFY_TRANSPOSES = Pass("simplify transposes", run, ensures=no_chains)
