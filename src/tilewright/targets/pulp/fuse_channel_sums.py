"""Sums over all axes but the last one, of products or of squares of what is scaled by channel, become one operator:
what is summed up is not stored in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ops._reduction import Reduction
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.mul import Mul
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.reducesumsquare import ReduceSumSquare
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.targets.pulp.channel_sums_operator import ProductSum, SquareSum


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_replaced, graph))


def _replaced(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _found(graph, node)
    if found is None:
        return None
    builder.add(found[0], found[1], node.outputs, node.name)
    return {name: name for name in node.outputs}


def _found(graph: Graph, node: Node) -> tuple[Op, tuple[str, ...]] | None:
    """What a sum becomes together with what it sums up, and what that reads."""
    source = graph.producers.get(node.inputs[0]) if isinstance(node.op, ReduceSum | ReduceSumSquare) else None
    if source is None or not is_only_reader(graph, node, source.key) or not _is_by_channel(graph, node):
        return None
    types = [graph.types[name] for name in source.inputs]
    result = graph.types[source.key]
    if isinstance(node.op, ReduceSum) and isinstance(source.op, Mul) and types == [result, result]:
        return ProductSum(), source.inputs
    is_scaled = isinstance(source.op, BatchNormalization) and source.op.axis == len(result.shape) - 1
    is_square = isinstance(node.op, ReduceSumSquare) and is_scaled and len(types) == 3
    return (SquareSum(), source.inputs) if is_square else None


def _is_by_channel(graph: Graph, node: Node) -> bool:
    """Whether all axes but the last one are reduced, and none stays."""
    kind = graph.types[node.inputs[0]]
    rank = len(kind.shape)
    is_all = isinstance(node.op, Reduction) and sorted(node.op.axes) == [*range(rank - 1)]
    return rank > 1 and kind.dtype == "float32" and is_all and graph.types[node.key].shape == kind.shape[-1:]


def all_fused(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _found(graph, node) is not None:
            yield node.where, "is a sum by channel of what one kernel could compute"


FUSE_CHANNEL_SUMS = Pass("sums by channel in one", run, ensures=all_fused)
