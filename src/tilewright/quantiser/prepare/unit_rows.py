"""Vectors that are divided by their length become a normalisation, which has an integer form; a quotient has none.

x / max(|x|, least) is x / sqrt(mean(x * x) + least ** 2 / n) / sqrt(n) for all vectors that are far longer than that
least length, which only guards against a division by zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.expand import Expand
from tilewright.ops.max import Max
from tilewright.ops.reducel2 import ReduceL2
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

MOST_LEAST = 1e-4
"""A bound of lengths above this is more than a guard against zero."""


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_emitted, graph))


def _emitted(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _axis_and_least(graph, graph.producers[node.key])
    if found is None:
        return None
    axis, least = found
    kind, rank = graph.types[node.key], len(graph.types[node.key].shape)
    count = kind.shape[axis]
    scale = builder.constant(np.full(count, 1 / np.sqrt(count), np.float32), f"{node.name}_scale")
    op = RMSNormalization(rank - 1, least**2 / count)
    if axis == rank - 1:
        builder.add(op, [node.inputs[0], scale], node.outputs, node.name)
        return {node.key: node.key}
    order = (*(each for each in range(rank) if each != axis), axis)
    back = tuple(int(each) for each in np.argsort(order))
    (turned,) = builder.add(Transpose(order), [node.inputs[0]])
    (made,) = builder.add(op, [turned, scale], name=node.name)
    builder.add(Transpose(back), [made], node.outputs)
    return {node.key: node.key}


def _axis_and_least(graph: Graph, node: Node) -> tuple[int, float] | None:
    """Along which axis a node divides vectors by their length, and the least that it divides by."""
    if not isinstance(node.op, Div) or graph.types[node.inputs[0]] != graph.types[node.key]:
        return None
    below, least = graph.producers.get(node.inputs[1]), 0.0
    while below is not None and not isinstance(below.op, ReduceL2):
        bound = _bound(graph, below)
        if bound is None:
            return None
        least = max(least, bound)
        below = graph.producers.get(next(name for name in below.inputs if name not in graph.constants))
    if below is None or below.inputs[0] != node.inputs[0]:
        return None
    length = instance(below.op, ReduceL2)
    return (length.axes[0], least) if length.keepdims and len(length.axes) == 1 else None


def _bound(graph: Graph, node: Node) -> float | None:
    """From below, by an operator that does nothing else; None if it does."""
    if isinstance(node.op, Expand):
        return 0.0
    if isinstance(node.op, Clip):
        low, high = node.op.bounds("float32")
        return low if 0 < low <= MOST_LEAST and high == np.inf else None
    constants = [graph.constants[name] for name in node.inputs if name in graph.constants]
    if isinstance(node.op, Max) and len(node.inputs) == 2 and len(constants) == 1 and constants[0].size == 1:
        low = float(constants[0].reshape(-1)[0])
        return low if 0 < low <= MOST_LEAST else None
    return None


def no_quotients(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _axis_and_least(graph, node) is not None:
            yield node.where, "divides vectors by their length"


FUSE_UNIT_ROWS = Pass("fuse vectors of length one", run, ensures=no_quotients)
