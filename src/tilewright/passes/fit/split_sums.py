"""Long sums of products in parts: each part adds to the total of those before it, and the last one requantises.

For layers of which not even the smallest tile fits the L1 of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.slice import Slice
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

MULTIPLE = 4
"""Parts begin at multiples of this: dot products take so many bytes at a time."""


def splitting_sums(graph: Graph, parts: Mapping[str, int]) -> Pass:
    """Of some nodes of a graph (by key), each in so many parts."""
    lengths = {key: _length(graph, graph.producers[key]) for key, count in parts.items() if count > 1}
    ensures = partial(shorter_sums, lengths=lengths)
    return Pass("split sums", partial(split_sums, parts=parts), ensures=ensures)


def split_sums(graph: Graph, parts: Mapping[str, int]) -> Graph:
    """The graph with the sums of some nodes (by key) in so many parts."""

    def split(node: Node, builder: Builder) -> Mapping[str, str] | None:
        if parts.get(node.key, 1) < 2:
            return None
        made = _product(graph, node, builder, parts[node.key]) if isinstance(node.op, MatMul) else None
        made = _convolution(graph, node, builder, parts[node.key]) if isinstance(node.op, Conv) else made
        return None if made is None else {node.key: made}

    return rewrite(graph, split)


def shorter_sums(graph: Graph, lengths: Mapping[str, int]) -> Iterator[Complaint]:
    """`lengths` are those before, by the results' names."""
    for key, length in lengths.items():
        node = graph.producers[key]
        if isinstance(node.op, MatMul | Conv) and _length(graph, node) >= length:
            yield node.where, f"still adds {length} products at once"


def _length(graph: Graph, node: Node) -> int:
    """What is summed over, but for the positions of a filter."""
    if isinstance(node.op, Conv):
        return graph.types[node.inputs[1]].shape[_channel_axis(node.op, graph, node)]
    return _inner(instance(node.op, MatMul), graph, node)


def most_parts(graph: Graph, node: Node) -> int:
    """Into how many parts the sum of a node can be cut; 1 where it cannot."""
    if graph.types[node.inputs[0]].dtype not in ("int8", "uint8", "float32"):
        return 1
    if isinstance(node.op, MatMul) and not (node.op.perm_a or node.op.perm_b or node.op.perm_y):
        shapes = [graph.types[name].shape for name in node.inputs[:2]]
        return -(-_inner(node.op, graph, node) // MULTIPLE) if min(map(len, shapes)) > 1 else 1
    if isinstance(node.op, Conv) and node.op.groups == 1:
        weights = graph.types[node.inputs[1]].shape
        return -(-weights[_channel_axis(node.op, graph, node)] // MULTIPLE) if node.op.adds_up(weights) else 1
    return 1


def _product(graph: Graph, node: Node, builder: Builder, count: int) -> str:
    """A product of matrices: the total so far is what C is to the next part."""
    op = instance(node.op, MatMul)
    a, b, c, mul, add = (*node.inputs, "", "", "")[:5]
    axis_a = len(graph.types[a].shape) - (2 if op.trans_a else 1)
    axis_b = len(graph.types[b].shape) - (1 if op.trans_b else 2)
    ranges = _ranges(_inner(op, graph, node), count)
    plain, total = replace(op, requant=None, activation=None), c
    for first, last in ranges[:-1]:
        inputs = [_part(graph, builder, a, axis_a, first, last), _part(graph, builder, b, axis_b, first, last), total]
        (total,) = builder.add(plain, inputs, None, node.name)
        plain, op = replace(plain, beta=1.0), replace(op, beta=1.0)
    first, last = ranges[-1]
    inputs = [_part(graph, builder, a, axis_a, first, last), _part(graph, builder, b, axis_b, first, last), total]
    (made,) = builder.add(op, [*inputs, mul, add], node.outputs, node.name)
    return made


def _convolution(graph: Graph, node: Node, builder: Builder, count: int) -> str:
    """A convolution: totals of channels are added, and requantised at the end."""
    op = instance(node.op, Conv)
    x, w, b, mul, add = (*node.inputs, "", "", "")[:5]
    axis_w = _channel_axis(op, graph, node)
    axis_x = len(graph.types[x].shape) - 1 if op.channels_last else 1
    plain, total = replace(op, requant=None, activation=None), ""
    ranges = _ranges(graph.types[w].shape[axis_w], count)
    is_total = op.requant is None and op.activation is None
    for first, last in ranges:
        inputs = [_part(graph, builder, x, axis_x, first, last), _part(graph, builder, w, axis_w, first, last)]
        (part,) = builder.add(plain, [*inputs, "" if total else b], None, node.name)
        outputs = node.outputs if is_total and (first, last) == ranges[-1] else None
        total = builder.add(Add(), [total, part], outputs, node.name)[0] if total else part
    if op.activation is not None:
        return builder.add(op.activation, [total], node.outputs, node.name)[0]
    if op.requant is None:
        return total
    axis = axis_x if any(graph.types[name].elements > 1 for name in (mul, add) if name) else -1
    wide = graph.types[node.key].shape[axis] if axis >= 0 else 1
    vectors = [_vector(graph, builder, name, wide) for name in (mul, add)]
    (made,) = builder.add(RequantShift(op.requant, axis), [total, *vectors], node.outputs, node.name)
    return made


def _vector(graph: Graph, builder: Builder, name: str, size: int) -> str:
    """One value per channel; zeros where a convolution has nothing to add."""
    if not name:
        return builder.constant(np.zeros(size, np.int32), "nothing")
    if graph.types[name].shape == (size,):
        return name
    return builder.constant(np.broadcast_to(graph.constants[name].reshape(-1), (size,)).copy(), name)


def _part(graph: Graph, builder: Builder, name: str, axis: int, first: int, last: int) -> str:
    """Some positions of a tensor along an axis."""
    shape = graph.types[name].shape
    if name in graph.constants:
        taken = np.take(graph.constants[name], range(first, last), axis)
        return builder.constant(np.ascontiguousarray(taken), name)
    starts = tuple(first if position == axis else 0 for position in range(len(shape)))
    sizes = tuple(last - first if position == axis else size for position, size in enumerate(shape))
    maker = graph.producers.get(name)
    if maker is not None and isinstance(maker.op, Slice) and set(maker.op.steps) == {1}:
        # A part of a part is a part of the whole.
        starts, name = tuple(map(int.__add__, starts, maker.op.starts)), maker.inputs[0]
    return builder.add(Slice(starts, (1,) * len(shape), sizes), [name], None, f"part of {name}")[0]


def _ranges(length: int, count: int) -> list[tuple[int, int]]:
    size = -(-length // (count * MULTIPLE)) * MULTIPLE
    return [(at, min(at + size, length)) for at in range(0, length, size)]


def _inner(op: MatMul, graph: Graph, node: Node) -> int:
    return graph.types[node.inputs[0]].shape[-2 if op.trans_a else -1]


def _channel_axis(op: Conv, graph: Graph, node: Node) -> int:
    return len(graph.types[node.inputs[1]].shape) - 1 if op.channels_last else 1
