"""Tensors that lie inside others on one core: rows that are read where they are, and operands of a Concat that are made
where it has them. The Slice or Concat has nothing to do then."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.length import Length
from tilewright.ops.concat import Concat
from tilewright.ops.slice import Slice
from tilewright.passes.aliasing import Owners, home_of, is_only_reader
from tilewright.records import dataclass


@dataclass(frozen=True)
class Pieces:
    owners: Owners
    starts: Mapping[str, int] = field(default_factory=dict)
    """Tensor -> the bytes of its owner before it, where it does not begin there."""
    made_inside: frozenset[str] = frozenset()
    """Operands of Concats that are made where those have them."""
    idle: frozenset[str] = frozenset()
    """Keys of nodes that have nothing to do."""
    around: frozenset[str] = frozenset()
    """Owners that pieces lie in."""


def pieces(graph: Graph, owners: Owners) -> Pieces:
    """With owners that follow from views; a piece's owner is that of what it lies in."""
    joined = [node for node in graph.nodes if _is_joined(graph, node, owners)]
    inside = {name: place for node in joined for name, place in _operands(graph, node)}
    idle = {node.key for node in joined}
    lies = dict(inside)
    for node in graph.nodes:
        source = node.inputs[0] if node.inputs else ""
        if node.key in inside or owners[node.key] != node.key or node.key in graph.sinks or not _is_run(graph, node):
            continue
        if home_of(graph, _end(owners, lies, source)[0]) == "arena":
            lies[node.key] = source, _first_byte(graph, node)
            idle.add(node.key)
    ends = {name: _end(owners, lies, name) for name in graph.types}
    starts = {name: start for name, (_, start) in ends.items() if start}
    around = frozenset(ends[name][0] for name in lies)
    return Pieces(
        {name: owner for name, (owner, _) in ends.items()}, starts, frozenset(inside), frozenset(idle), around
    )


def _end(owners: Owners, lies: Mapping[str, tuple[str, int]], name: str) -> tuple[str, int]:
    """The tensor that has the bytes, and those of it that come before."""
    owner, start = owners[name], 0
    while owner in lies:
        around, before = lies[owner]
        owner, start = owners[around], start + before
    return owner, start


def _is_run(graph: Graph, node: Node) -> bool:
    """Whether a Slice takes elements that lie side by side."""
    if not isinstance(node.op, Slice) or not graph.types[node.key].elements:
        return False
    shape, op = graph.types[node.inputs[0]].shape, node.op
    cut = [axis for axis, size in enumerate(shape) if op.sizes[axis] != size]
    rows = math.prod(op.sizes[: cut[-1]]) if cut else 1
    if isinstance(_first_byte(graph, node), Length):
        return False  # where it begins depends on a size
    return rows == 1 and all(step == 1 for step, size in zip(op.steps, op.sizes, strict=True) if size > 1)


def _first_byte(graph: Graph, node: Node) -> int:
    kind = graph.types[node.inputs[0]]
    start, _ = instance(node.op, Slice).walk(kind.shape)
    return start * kind.element.itemsize


def _is_joined(graph: Graph, node: Node, owners: Owners) -> bool:
    """Whether all operands of a Concat can be made in their places."""
    if not isinstance(node.op, Concat) or home_of(graph, owners[node.key]) != "arena":
        return False
    if math.prod(graph.types[node.key].shape[: node.op.axis]) != 1:
        return False
    if any(isinstance(start, Length) for _, (_, start) in _operands(graph, node)):
        return False
    return all(_is_made_for(graph, node, name, owners) for name in node.inputs)


def _is_made_for(graph: Graph, joined: Node, name: str, owners: Owners) -> bool:
    maker = graph.producers.get(name)
    if maker is None or maker.op.view or isinstance(maker.op, Concat) or len(maker.outputs) > 1:
        return False
    if maker.op.overwrites or owners[name] != name or graph.types[name].bytes == 0:
        return False
    return joined.inputs.count(name) == 1 and is_only_reader(graph, joined, name)


def _operands(graph: Graph, node: Node) -> list[tuple[str, tuple[str, int]]]:
    found, at = [], 0
    for name in node.inputs:
        found.append((name, (node.key, at)))
        at += graph.types[name].bytes
    return found
