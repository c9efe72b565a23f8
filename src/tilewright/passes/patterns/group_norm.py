"""Normalisation of groups of channels: exporters reshape, normalise rows or channels, reshape back and scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.add import Add
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.mul import Mul
from tilewright.ops.reshape import Reshape
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.patterns.normalisations import per_channel
from tilewright.records import dataclass


@dataclass(frozen=True)
class Groups:
    """Channels of `source`, normalised in so many groups."""

    source: str
    groups: int
    epsilon: float


def grouped(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A node that adds a bias for each channel to normalised groups, times a scale for each channel."""
    for scaled, bias in _with_constant(graph, node, Add):
        product = _only(graph, node, scaled)
        for back, scale in _with_constant(graph, product, Mul) if product else ():
            found = _groups(graph, product, back)
            tables = [per_channel(value, graph.types[node.key].shape) for value in (scale, bias)]
            if found is None or any(table is None for table in tables):
                continue
            op = GroupNormalization(found.groups, found.epsilon)
            names = [builder.constant(np.asarray(table), f"{node.name}_per_channel") for table in tables]
            builder.add(op, [found.source, *names], node.outputs)
            return {node.key: node.key}
    return None


def _with_constant(graph: Graph, node: Node | None, kind: type) -> Iterator[tuple[str, Array]]:
    """The computed operand of a node of that kind and the constant one."""
    if node is None or type(node.op) is not kind or graph.types[node.key].dtype != "float32":
        return
    for name, other in (node.inputs, node.inputs[::-1]):
        if other in graph.constants and name not in graph.constants:
            yield name, graph.constants[other]


def _only(graph: Graph, reader: Node | None, tensor: str) -> Node | None:
    """What makes a tensor that nothing else reads."""
    return graph.producers.get(tensor) if reader is not None and is_only_reader(graph, reader, tensor) else None


def _groups(graph: Graph, reader: Node | None, tensor: str) -> Groups | None:
    back = _only(graph, reader, tensor)
    normal = _only(graph, back, back.inputs[0]) if back and isinstance(back.op, Reshape) else None
    before = _only(graph, normal, normal.inputs[0]) if normal else None
    if back is None or normal is None or before is None or not isinstance(before.op, Reshape):
        return None
    source, split = graph.types[before.inputs[0]].shape, graph.types[before.key].shape
    if graph.types[back.key].shape != source or len(source) < 3 or len(split) < 3:
        return None
    if split[0] != source[0] or not split[1] or source[1] % split[1]:
        return None
    epsilon = _epsilon(graph, normal)
    return None if epsilon is None else Groups(before.inputs[0], split[1], epsilon)


def _epsilon(graph: Graph, node: Node) -> float | None:
    """Of a normalisation of everything behind the first two axes that does nothing else."""
    op, split = node.op, graph.types[node.inputs[0]].shape
    if isinstance(op, LayerNormalization):
        return op.epsilon if op.axis % len(split) == 2 and len(node.inputs) == 1 else None
    if not isinstance(op, GroupNormalization) or op.groups != split[1]:
        return None
    scale, bias = (graph.constants.get(name) for name in node.inputs[1:])
    is_plain = scale is not None and bias is not None and bool((scale == 1).all() and (bias == 0).all())
    return op.epsilon if is_plain else None
