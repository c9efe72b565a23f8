"""Layers that quantise their input while the network runs become the float layers that they approximate.

TensorFlow Lite's hybrid layers have weights of bytes and round each input to bytes by the largest number in it. With
ranges from samples that is no longer needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops._filters import Filters
from tilewright.ops.cast import Cast
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.passes import APPROXIMATE, Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

FURTHEST = 8
"""Nodes between a layer and the float tensor that it rounds."""


def run(graph: Graph) -> Graph:
    found = {layer.end.key: layer for node in graph.nodes if (layer := _layer(graph, node)) is not None}
    if not found:
        return graph
    note = (
        f"{len(found)} layers that quantise their input at run time are taken as the float layers that they stand for"
    )
    return rewrite(replace(graph, notes=(*graph.notes, note)), partial(_emitted, graph, found))


@dataclass(frozen=True)
class _Layer:
    """An integer layer between the float tensor that is rounded for it and the product with both scales."""

    node: Node
    source: str
    scales: str
    end: Node


def _emitted(graph: Graph, found: Mapping[str, _Layer], node: Node, builder: Builder) -> Mapping[str, str] | None:
    layer = found.get(node.key)
    if layer is None:
        return None
    weights = _float_weights(layer.node, graph.constants[layer.node.inputs[1]], graph.constants[layer.scales])
    name = builder.constant(weights, layer.node.inputs[1])
    builder.add(layer.node.op, [layer.source, name], node.outputs, node.name)
    return {node.key: node.key}


def _float_weights(node: Node, weights: Array, scales: Array) -> Array:
    axis = weights.ndim - 2 if isinstance(node.op, MatMul) and node.op.trans_b else weights.ndim - 1
    axis = 0 if isinstance(node.op, Conv) else axis
    shape = [1] * weights.ndim
    if scales.size > 1:
        shape[axis] = scales.size
    return np.asarray(weights.astype(np.float32) * scales.reshape(shape), np.float32)


def _layer(graph: Graph, node: Node) -> _Layer | None:
    if not isinstance(node.op, Filters | MatMul) or len(node.inputs) != 2 or node.inputs[1] not in graph.constants:
        return None
    rounded, end = graph.producers.get(node.inputs[0]), _only_reader(graph, node)
    if rounded is None or not isinstance(rounded.op, Cast) or end is None or not isinstance(end.op, Cast):
        return None
    scaled = _only_reader(graph, end)
    whole = _only_reader(graph, scaled) if scaled is not None and isinstance(scaled.op, Mul) else None
    source = _rounded_from(graph, rounded)
    if scaled is None or whole is None or not isinstance(whole.op, Mul) or source is None:
        return None
    scales = next((name for name in scaled.inputs if name in graph.constants), None)
    return None if scales is None else _Layer(node, source, scales, whole)


def _only_reader(graph: Graph, node: Node) -> Node | None:
    readers = graph.consumers.get(node.key, [])
    return readers[0] if len(readers) == 1 and node.key not in graph.sinks else None


def _rounded_from(graph: Graph, rounded: Node) -> str | None:
    """The tensor that is rounded: the one that everything between it and the layer is computed from."""
    kind = graph.types[rounded.key]
    waiting, seen = [rounded.inputs[0]], list[str]()
    while waiting and len(seen) <= 2 * FURTHEST:
        name = waiting.pop(0)
        node = graph.producers.get(name)
        if name in seen or name in graph.constants:
            continue
        seen.append(name)
        if node is None or ("Abs" in {reader.op.kind for reader in graph.consumers[name]} and _is_scaled(graph, name)):
            return name if graph.types[name].shape == kind.shape else None
        waiting.extend(filter(None, node.inputs))
    return None


def _is_scaled(graph: Graph, name: str) -> bool:
    """Whether the largest magnitude of a tensor is taken, which is what its scale comes from."""
    magnitudes = [reader for reader in graph.consumers[name] if reader.op.kind == "Abs"]
    return any(reader.op.kind == "ReduceMax" for node in magnitudes for reader in graph.consumers.get(node.key, ()))


def none_hybrid(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _layer(graph, node) is not None and graph.constants[node.inputs[1]].dtype.kind in "iu":
            yield node.where, "has integers for weights, and rounds its input at run time"


UNDO_HYBRID = Pass("undo hybrid layers", run, ensures=none_hybrid, numbers=APPROXIMATE)
