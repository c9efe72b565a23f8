"""Bytes between quantisers are signed: what is uint8 there becomes int8 with a zero point that is 128 less.

Every number stays what it is. Bytes that a network takes or gives, or that something else than a quantiser reads, stay
unsigned: quantisers beside them make the signed ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

MORE = 128


def run(graph: Graph) -> Graph:
    changed = _between_quantisers(graph)
    return rewrite(graph, partial(_signed, graph, changed)) if _has_unsigned(graph) else graph


def as_unsigned(values: Array) -> Array:
    """Signed bytes of this pass as the graph had them before it."""
    return values.view(np.uint8) ^ np.uint8(MORE)


def _as_signed(values: Array) -> Array:
    return (values ^ np.uint8(MORE)).view(np.int8)


def _has_unsigned(graph: Graph) -> bool:
    return any(_is_unsigned(graph, node) for node in graph.nodes)


def _is_unsigned(graph: Graph, node: Node) -> bool:
    """A quantiser to or from uint8, whose zero point is known."""
    zero = graph.constants.get(node.inputs[2]) if isinstance(node.op, QuantizeLinear | DequantizeLinear) else None
    return zero is not None and zero.dtype == np.uint8


def _between_quantisers(graph: Graph) -> frozenset[str]:
    made = {node.key for node in graph.nodes if isinstance(node.op, QuantizeLinear) and _is_unsigned(graph, node)}
    return frozenset(name for name in made - set(graph.sinks) if _is_dequantised(graph, name))


def _is_dequantised(graph: Graph, name: str) -> bool:
    return all(
        isinstance(one.op, DequantizeLinear) and _is_unsigned(graph, one) for one in graph.consumers.get(name, [])
    )


def _signed(graph: Graph, changed: frozenset[str], node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _is_unsigned(graph, node):
        return None
    x, scale, zero = node.inputs
    ends = scale, builder.constant(_as_signed(graph.constants[zero]), zero)
    if isinstance(node.op, DequantizeLinear):
        return _dequantised(changed, node, builder, ends)
    if node.key in changed:
        builder.add(node.op, [x, *ends], node.outputs, node.name)
    else:
        (signed,) = builder.add(node.op, [x, *ends], name=node.name)
        (real,) = builder.add(DequantizeLinear(instance(node.op, QuantizeLinear).axis), [signed, *ends], name=node.name)
        builder.add(node.op, [real, scale, zero], node.outputs, node.name)
    return {node.key: node.key}


def _dequantised(
    changed: frozenset[str], node: Node, builder: Builder, ends: tuple[str, str]
) -> Mapping[str, str] | None:
    x = node.inputs[0]
    if x in builder.constants:
        x = builder.constant(_as_signed(builder.constants[x]), x)
    elif x not in changed:
        (real,) = builder.add(node.op, node.inputs, name=node.name)
        (x,) = builder.add(QuantizeLinear(instance(node.op, DequantizeLinear).axis), [real, *ends], name=node.name)
    builder.add(node.op, [x, *ends], node.outputs, node.name)
    return {node.key: node.key}


def all_signed(graph: Graph) -> Iterator[Complaint]:
    for name in sorted(_between_quantisers(graph)):
        yield graph.producers[name].where, "gives uint8 where int8 could be"


SIGNED_BYTES = Pass("signed bytes", run, ensures=all_signed)
