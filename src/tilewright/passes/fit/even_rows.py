"""Convolutions of single pixels see all pixels in one row where threads would get rows that are not even.

Seven rows are four and three for two threads; their 49 pixels are 25 and 24.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.ir.at_sizes import is_sized
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Shape
from tilewright.ops._rearranged import IMAGES, Rearranged
from tilewright.ops.conv import Conv
from tilewright.ops.reshape import Reshape
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

LEAST_GAIN = 1.05
"""In time, for which it is worth two views."""


def even_rows(threads: int) -> Pass:
    return Pass("even rows for threads", partial(run, threads), ensures=partial(all_even, threads))


def run(threads: int, graph: Graph) -> Graph:
    return rewrite(graph, partial(_in_one_row, threads, graph))


def all_even(threads: int, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_uneven(threads, graph, node):
            yield node.where, f"has rows that {threads} threads share unevenly"


def _in_one_row(threads: int, graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _is_uneven(threads, graph, node):
        return None
    operands = {name: _as_row(graph, builder, name) for name in _images(node)}
    made = builder.add(node.op, [operands.get(name, name) for name in node.inputs])[0]
    builder.add(Reshape(graph.types[node.key].shape), [made], node.outputs, node.name)
    return {node.key: node.key}


def _as_row(graph: Graph, builder: Builder, tensor: str) -> str:
    *pixels, channels = graph.types[tensor].shape
    return builder.add(Reshape((1, 1, math.prod(pixels), channels)), [tensor])[0]


def _images(node: Node) -> set[str]:
    return {tensor for name, tensor in node.operands().items() if name in IMAGES}


def _is_uneven(threads: int, graph: Graph, node: Node) -> bool:
    conv = node.op.plain if isinstance(node.op, Rearranged) else node.op
    if not isinstance(conv, Conv) or not conv.channels_last or any(map(is_sized, graph.all_types(node).values())):
        return False
    types = {name: graph.types[tensor] for name, tensor in {**node.operands(), **node.results()}.items()}
    shapes = {name: kind.shape for name, kind in types.items()}
    weights = node.op.plain_shapes(shapes)["W"] if isinstance(node.op, Rearranged) else shapes["W"]
    if conv.rank != 2 or not _sees_one_pixel(conv, weights):
        return False
    *pixels, _ = shapes["Y"]
    # Parts that lie in one piece are of the first axis that has several elements.
    now = _longest(next((size for size in pixels if size > 1), 1), threads)
    return now > LEAST_GAIN * _longest(math.prod(pixels), threads)


def _sees_one_pixel(conv: Conv, weights: Shape) -> bool:
    return math.prod(weights[1:-1]) == 1 and set(conv.strides) == {1} and not any(conv.padding)


def _longest(size: int, threads: int) -> float:
    """The largest part, as a share of all."""
    return -(-size // threads) / max(size, 1)
