"""Products and their sums over all axes but the last one become one operator: products are not stored in between.
Gradients by the factors of batch normalisations are such sums.

A tile has all rows. Of many, it would have few channels, and the DMA would fetch short pieces: storing products takes
less time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops._reduction import Reduction
from tilewright.ops.mul import Mul
from tilewright.ops.reducesum import ReduceSum
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.targets.pulp.channel_sums_operator import ProductSum

MOST_ROWS = 1024
"""Of which tiles of some channels fit into L1, more than one at a time."""


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_replaced, graph))


def _replaced(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    factors = _factors(graph, node)
    if factors is None:
        return None
    builder.add(ProductSum(), factors, node.outputs, node.name)
    return {name: name for name in node.outputs}


def _factors(graph: Graph, node: Node) -> tuple[str, ...] | None:
    """Of the products that a sum adds up and that nothing else reads."""
    source = graph.producers.get(node.inputs[0]) if isinstance(node.op, ReduceSum) else None
    if source is None or not isinstance(source.op, Mul) or not is_only_reader(graph, node, source.key):
        return None
    result = graph.types[source.key]
    are_alike = [graph.types[name] for name in source.inputs] == [result, result]
    return source.inputs if are_alike and _is_by_channel(graph, node) else None


def _is_by_channel(graph: Graph, node: Node) -> bool:
    """Whether all axes but the last one are reduced, of not too many rows, and none stays."""
    kind = graph.types[node.inputs[0]]
    rank = len(kind.shape)
    is_all = isinstance(node.op, Reduction) and sorted(node.op.axes) == [*range(rank - 1)]
    is_all = is_all and math.prod(kind.shape[:-1]) <= MOST_ROWS
    return rank > 1 and kind.dtype == "float32" and is_all and graph.types[node.key].shape == kind.shape[-1:]


def all_fused(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _factors(graph, node) is not None:
            yield node.where, "is a sum by channel of products that one kernel could add up"


FUSE_CHANNEL_SUMS = Pass("products and their sums by channel in one", run, ensures=all_fused)
