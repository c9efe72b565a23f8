"""What integers at a network's ends stand for: an input that is dequantised first, an output that is quantised last.
Views and transpositions may lie between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.ir.graph import Graph, Node
from tilewright.ir.scale import SCALED, Scale, Scales
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.transpose import Transpose


def with_scales(graph: Graph) -> Graph:
    inputs = {name: _one(_below(graph, name)) for name in graph.inputs if _is_integer(graph, name)}
    named = [one for one in zip(graph.output_names, graph.outputs, strict=True) if _is_integer(graph, one[1])]
    outputs = {name: _above(graph, tensor) for name, tensor in named}
    said = graph.scales
    found = Scales(_known(inputs) | dict(said.inputs), _known(outputs) | dict(said.outputs), said.inner)
    return graph if found == graph.scales else replace(graph, scales=found)


def _is_integer(graph: Graph, tensor: str) -> bool:
    return graph.types[tensor].dtype in SCALED


def _known(found: dict[str, Scale | None]) -> dict[str, Scale]:
    return {name: scale for name, scale in found.items() if scale is not None}


def _one(found: Iterator[Scale | None]) -> Scale | None:
    """What all readers agree on."""
    several = set(found)
    return several.pop() if len(several) == 1 else None


def _below(graph: Graph, tensor: str) -> Iterator[Scale | None]:
    """By everyone who reads a tensor."""
    for node in graph.consumers.get(tensor, []):
        if isinstance(node.op, DequantizeLinear) and node.inputs[0] == tensor:
            yield _of(graph, node)
        elif _moves(node):
            yield from _below(graph, node.outputs[0])
        else:
            yield None


def _above(graph: Graph, tensor: str) -> Scale | None:
    node = graph.producers.get(tensor)
    while node is not None and _moves(node):
        node = graph.producers.get(node.inputs[0])
    return _of(graph, node) if node is not None and isinstance(node.op, QuantizeLinear) else None


def _moves(node: Node) -> bool:
    return node.op.view or isinstance(node.op, Transpose)


def _of(graph: Graph, node: Node) -> Scale | None:
    """Of a quantiser, if it has one constant scale for all elements."""
    scale, zero = (graph.constants.get(name) for name in node.inputs[1:3])
    if scale is None or zero is None or scale.size != 1 or zero.size != 1:
        return None
    return Scale(float(scale.reshape(-1)[0]), int(zero.reshape(-1)[0]))
