"""Attention whose queries, keys and values are cut out of one tensor that has them side by side: read where they are.

Models make all three by one product and then reshape, transpose and slice its result, each in another way. What counts
is which elements an operand has: the moves are followed with the numbers of the elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.targets.gpu.joined_attention import JoinedAttention, Takes

MOVES = (Reshape, Transpose, Slice)
"""What only moves elements of one tensor."""


@dataclass(frozen=True)
class _Found:
    source: str
    op: JoinedAttention
    shape: tuple[int, ...]
    """Of the source, as heads side by side."""


def read_joined_heads(takes: Takes) -> Pass:
    return Pass("heads where they are", partial(run, takes), ensures=partial(all_read, takes))


def run(takes: Takes, graph: Graph) -> Graph:
    return rewrite(graph, partial(_read, takes, graph))


def all_read(takes: Takes, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _found(takes, graph, node) is not None:
            yield node.where, "has operands that are moved though they lie side by side"


def _read(takes: Takes, graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _found(takes, graph, node)
    if found is None:
        return None
    heads = builder.add(Reshape(found.shape), [found.source])
    builder.add(found.op, heads, node.outputs, node.name)
    return {node.key: node.key}


def _found(takes: Takes, graph: Graph, node: Node) -> _Found | None:
    if type(node.op) is not FusedAttention or len(node.inputs) != 3:
        return None
    chains = [_moves(graph, name) for name in node.inputs]
    sources = {chain[0].inputs[0] if chain else "" for chain in chains}
    kinds = [graph.types[name] for name in node.inputs]
    batch, tokens, groups, length = kinds[1].shape
    shape = (batch, tokens, kinds[0].shape[2] + 2 * groups, length)
    (source, *others), op = sources, JoinedAttention(node.op, groups)
    if others or not source or graph.types[source].elements != np.prod(shape):
        return None
    types = {"Q": replace(kinds[0], shape=shape), "Y": graph.types[node.key]}
    is_joined = takes(op, types) and _are_side_by_side(graph, source, chains, shape, groups)
    return _Found(source, op, shape) if is_joined else None


def _moves(graph: Graph, tensor: str) -> list[Node]:
    """What moves a tensor to where it is, in order."""
    found: list[Node] = []
    while (maker := graph.producers.get(tensor)) is not None and isinstance(maker.op, MOVES):
        found.insert(0, maker)
        tensor = maker.inputs[0]
    return found


def _are_side_by_side(graph: Graph, source: str, chains: list[list[Node]], shape: tuple[int, ...], groups: int) -> bool:
    """Whether the elements of queries, keys and values are those of the source's heads, in this order."""
    kind = graph.types[source]
    numbers = np.arange(kind.elements)
    heads = shape[2] - 2 * groups
    parts = np.split(numbers.reshape(shape), [heads, heads + groups], axis=2)
    moved = (_moved(numbers.reshape(kind.shape), chain) for chain in chains)
    return all(np.array_equal(one, part) for one, part in zip(moved, parts, strict=True))


def _moved(numbers: Array, chain: list[Node]) -> Array:
    for node in chain:
        numbers = node.op.numpy(numbers)
    return numbers
