"""A Reshape between two layers that a device computes as one job comes behind both, where the second computes element
by element: the device sees its operands in the shape in which the first makes its result."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from itertools import pairwise
from math import prod

from tilewright.accelerator.chains import steps_of
from tilewright.accelerator.declaration import Pattern
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Shape
from tilewright.ops.reshape import Reshape
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite

Pairs = Collection[tuple[str, str]]
"""Operators of which the second follows the first in a pattern."""


def following_pairs(patterns: Collection[Pattern]) -> Pairs:
    steps = [[step.op for step in steps_of(pattern)] for pattern in patterns]
    return {pair for row in steps for pair in pairwise(row)}


def sink_reshapes(pairs: Pairs, graph: Graph) -> Graph:
    return rewrite(graph, partial(_sunk, pairs, graph))


def _sunk(pairs: Pairs, graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    before = next((name for name in node.inputs if _comes_from(pairs, graph, node, name)), None)
    if before is None or len(node.outputs) != 1 or not node.op.elementwise:
        return None
    shape = graph.types[graph.producers[before].inputs[0]].shape
    whole = graph.types[node.key].shape
    if not all(_fits(graph.types[name].shape, whole, shape) for name in node.inputs if name):
        return None
    inputs = [_reshaped(graph, builder, name, before, shape) for name in node.inputs]
    made = builder.add(node.op, inputs, name=node.name)[0]
    builder.add(Reshape(whole), [made], node.outputs, node.name)
    return {node.key: node.key}


def _comes_from(pairs: Pairs, graph: Graph, node: Node, name: str) -> bool:
    """Whether a tensor is a Reshape of what the operator before it in a pattern makes, and read here alone."""
    view = graph.producers.get(name)
    if view is None or not isinstance(view.op, Reshape) or not is_only_reader(graph, node, name):
        return False
    maker = graph.producers.get(view.inputs[0])
    return maker is not None and (maker.op.kind, node.op.kind) in pairs and is_only_reader(graph, view, view.inputs[0])


def _fits(operand: Shape, whole: Shape, shape: Shape) -> bool:
    """Whether an operand of a result of the shape `whole` can be read beside one of the other shape."""
    return operand == whole or (prod(operand) == 1 and len(operand) <= len(shape))


def _reshaped(graph: Graph, builder: Builder, name: str, before: str, shape: Shape) -> str:
    """An operand in the shape that the result before has."""
    if name == before:
        return graph.producers[before].inputs[0]
    if not name or graph.types[name].elements != prod(shape):
        return name
    if name in graph.constants:
        return builder.constant(graph.constants[name].reshape(shape))
    return builder.add(Reshape(shape), [name])[0]
