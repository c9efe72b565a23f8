"""Tensors whose channels can be scaled where they are made and scaled back where they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.ops._filters import Filters
from tilewright.ops._normalisation import RowNormalisation
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.conv import Conv
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.relu import Relu
from tilewright.quantiser.linear import LinearLayer, linear_layer, takes_bias

SCALED_THROUGH = (Relu, LeakyRelu, MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool)
"""What gives x times a positive factor for each channel if its operand is x times that factor."""


@dataclass(frozen=True)
class Reader:
    """A layer, and how its weights go with the channels that it reads."""

    layer: LinearLayer

    @property
    def column_reach(self) -> Array:
        """The largest weight that each channel is multiplied with."""
        weights = np.abs(self.layer.weights)
        axis = self._axis
        if isinstance(self.layer.node.op, Conv) and self.layer.node.op.groups > 1:
            return np.asarray(self._grouped(weights).max(axis=(1, *range(3, weights.ndim + 1)))).reshape(-1)
        return np.asarray(weights.max(axis=tuple(a for a in range(weights.ndim) if a != axis)))

    def scaled(self, factor: Array) -> Array:
        """The weights for channels that were divided by factors."""
        weights = self.layer.weights
        if isinstance(self.layer.node.op, Conv) and self.layer.node.op.groups > 1:
            grouped = self._grouped(weights)
            shape = (grouped.shape[0], 1, -1, *(1,) * (weights.ndim - 2))
            return np.asarray((grouped * factor.reshape(shape)).reshape(weights.shape), np.float32)
        shape = tuple(-1 if axis == self._axis else 1 for axis in range(weights.ndim))
        return np.asarray(weights * factor.reshape(shape), np.float32)

    def _grouped(self, weights: Array) -> Array:
        """[groups, filters, channels, taps...]"""
        op = self.layer.node.op
        assert isinstance(op, Conv)
        return weights.reshape(op.groups, -1, *weights.shape[1:])

    @property
    def _axis(self) -> int:
        """The axis of W along which channels lie that are read."""
        if isinstance(self.layer.node.op, Conv):
            return 1
        assert isinstance(self.layer.node.op, MatMul)
        return 1 if self.layer.node.op.trans_b else 0


@dataclass(frozen=True)
class Link:
    """A tensor, what makes it (several nodes before, maybe), and all that read it."""

    tensor: str
    axis: int
    """Of its channels."""
    maker: Node
    bare: LinearLayer | None
    """The maker, if it is a layer."""
    readers: tuple[Reader, ...]

    def divided(self, value: Array, factor: Array) -> Array:
        shape = tuple(-1 if axis == self.axis else 1 for axis in range(value.ndim))
        return np.asarray(value / factor.reshape(shape), np.float32)

    def divided_constants(self, graph: Graph, changed: Mapping[int, Array], factor: Array) -> dict[int, Array]:
        """The maker's constants by their positions, so that what it makes is divided by factors."""
        if self.bare is not None:
            weights = changed.get(1, self.bare.weights)
            found = {1: np.asarray(weights / self.bare.per_channel(factor), np.float32)}
            return found if self.bare.bias is None else found | {2: np.asarray(self.bare.bias / factor, np.float32)}
        names = dict(enumerate(self.maker.inputs))
        scale = graph.constants[names[1]] if names.get(1) else np.ones(factor.shape, np.float32)
        found = {1: np.asarray(scale / factor, np.float32)}
        return found | ({2: np.asarray(graph.constants[names[2]] / factor, np.float32)} if names.get(2) else {})


def links(graph: Graph) -> Iterator[Link]:
    """All tensors whose channels can be scaled."""
    for node in graph.nodes:
        readers = [_reader(graph, reader, node.key) for reader in graph.consumers.get(node.key, ())]
        known = [reader for reader in readers if reader is not None]
        if not known or len(known) != len(readers) or node.key in graph.sinks:
            continue
        maker = _maker(graph, node)
        if maker is not None:
            axis = (
                1 if len(graph.types[node.key].shape) > 2 and _is_image(maker) else len(graph.types[node.key].shape) - 1
            )
            yield Link(node.key, axis, maker, linear_layer(graph, maker), tuple(known))


def _is_image(maker: Node) -> bool:
    return isinstance(maker.op, Filters)


def _reader(graph: Graph, node: Node, tensor: str) -> Reader | None:
    """A layer whose weights have a factor for each channel that it reads."""
    layer = linear_layer(graph, node)
    if layer is None or node.inputs[0] != tensor or node.inputs.count(tensor) != 1:
        return None
    if isinstance(node.op, Conv):
        return Reader(layer)
    plain = isinstance(node.op, MatMul) and layer.weights.ndim == 2 and not (node.op.trans_a or node.op.perm_a)
    return Reader(layer) if plain and not getattr(node.op, "perm_b", ()) else None


def _maker(graph: Graph, node: Node) -> Node | None:
    """The node whose constants scale the channels of a result, maybe through others that let factors pass."""
    while isinstance(node.op, SCALED_THROUGH):
        source = graph.producers.get(node.inputs[0])
        alone = source is not None and len(graph.consumers[source.key]) == 1 and source.key not in graph.sinks
        if source is None or not alone:
            return None
        node = source
    layer = linear_layer(graph, node)
    if layer is not None and isinstance(node.op, Conv | MatMul):
        return node if takes_bias(layer) else None
    return node if _is_row_norm(graph, node) else None


def _is_row_norm(graph: Graph, node: Node) -> bool:
    """A normalisation of rows along the last axis, with constants."""
    unread = not any(name in graph.consumers or name in graph.sinks for name in node.outputs[1:])
    if not isinstance(node.op, RowNormalisation) or not unread:
        return False
    last = len(graph.types[node.key].shape) - 1
    return node.op.axis % (last + 1) == last and all(name in graph.constants for name in node.inputs[1:] if name)
