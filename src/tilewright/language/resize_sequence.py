"""The graph of a decoder for another number of tokens at once: the same nodes and weights, other shapes."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from tilewright.errors import InternalError
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice


def unlike(wanted: int, graph_sizes: frozenset[int]) -> int:
    """The nearest smaller number that no axis of the graph has, so that axes of tokens can be told from others."""
    return next(
        number for number in (*range(wanted, 1, -1), *range(wanted + 1, wanted + 10**6)) if number not in graph_sizes
    )


def with_tokens(graph: Graph, now: int, tokens: int) -> Graph:
    """A graph of `now` tokens, a number that no other axis has, for `tokens` of them."""
    builder = Builder(graph.name, notes=list(graph.notes), numerics_records=graph.numerics_records)
    for name in graph.inputs:
        kind = graph.types[name]
        builder.input(name, TensorType(kind.dtype, _sized(kind.shape, now, tokens)))
    for name, array in graph.constants.items():
        builder.constants[name] = shown = _first_tokens(name, array, now, tokens)
        builder.types[name] = TensorType(graph.types[name].dtype, shown.shape)
    builder.reserve(graph.types)
    for node in graph.nodes:
        builder.add(_resized(node, now, tokens), node.inputs, node.outputs, node.name)
    builder.copy_outputs(graph)
    return builder.build()


def _sized(shape: Shape, now: int, tokens: int) -> Shape:
    return tuple(tokens if size == now else size for size in shape)


def _first_tokens(name: str, array: Array, now: int, tokens: int) -> Array:
    """What counts tokens is longer or shorter. No weight has such an axis; a table may be as long by chance."""
    if now not in array.shape:
        return array
    if array.ndim > 1:
        raise InternalError(f"constant '{name}'", f"has shape {array.shape}, which {tokens} tokens cannot have")
    is_count = bool(np.all(np.diff(array) == 1))
    return (array[0] + np.arange(tokens)).astype(array.dtype) if is_count else array


def _resized(node: Node, now: int, tokens: int) -> Op:
    if isinstance(node.op, Reshape):
        return replace(node.op, shape=_sized(node.op.shape, now, tokens))
    if isinstance(node.op, Slice):
        return replace(node.op, sizes=_sized(node.op.sizes, now, tokens))
    counted = [field.name for field in fields(node.op) if _counts(getattr(node.op, field.name), now)]
    if counted:
        raise InternalError(node.where, f"counts tokens in {', '.join(counted)}")
    return node.op


def _counts(value: object, now: int) -> bool:
    return isinstance(value, tuple) and any(isinstance(one, int) and one == now for one in value)
