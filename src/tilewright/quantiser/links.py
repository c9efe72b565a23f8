"""Tensors whose channels can be scaled where they are made and scaled back where they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.ops._filters import Filters
from tilewright.ops._normalisation import RowNormalisation
from tilewright.ops.add import Add
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.conv import Conv
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.passes.aliasing import is_only_reader
from tilewright.quantiser.linear import LinearLayer, linear_layer, takes_bias
from tilewright.records import dataclass

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
        op = instance(self.layer.node.op, Conv)
        return weights.reshape(op.groups, -1, *weights.shape[1:])

    def axis(self, rank: int) -> int:
        """The axis of the channels that it reads, in a tensor of some rank."""
        return 1 if isinstance(self.layer.node.op, Conv) else rank - 1

    @property
    def _axis(self) -> int:
        """The axis of W along which channels lie that are read."""
        if isinstance(self.layer.node.op, Conv):
            return 1
        return 1 if instance(self.layer.node.op, MatMul).trans_b else 0


@dataclass(frozen=True)
class Maker:
    """A node whose constants scale the channels of what it makes."""

    node: Node
    layer: LinearLayer | None
    """None where it is a normalisation."""

    def divided(self, graph: Graph, changed: Mapping[int, Array], factor: Array) -> dict[int, Array]:
        """Its constants by their positions, so that what it makes is divided by factors."""
        if self.layer is not None:
            weights = changed.get(1, self.layer.weights)
            found = {1: np.asarray(weights / self.layer.per_channel(factor), np.float32)}
            return found if self.layer.bias is None else found | {2: np.asarray(self.layer.bias / factor, np.float32)}
        names = dict(enumerate(self.node.inputs))
        scale = graph.constants[names[1]] if names.get(1) else np.ones(factor.shape, np.float32)
        found = {1: np.asarray(scale / factor, np.float32)}
        return found | ({2: np.asarray(graph.constants[names[2]] / factor, np.float32)} if names.get(2) else {})


@dataclass(frozen=True)
class Link:
    """Tensors that have to be scaled alike, all nodes that make them, and all that read them."""

    axis: int
    """Of their channels."""
    makers: tuple[Maker, ...]
    readers: Mapping[str, tuple[Reader, ...]]
    """By the tensors that they read."""

    @property
    def all_readers(self) -> list[Reader]:
        return [reader for readers in self.readers.values() for reader in readers]

    def divided(self, value: Array, factor: Array) -> Array:
        shape = tuple(-1 if axis == self.axis else 1 for axis in range(value.ndim))
        return np.asarray(value / factor.reshape(shape), np.float32)


def links(graph: Graph) -> Iterator[Link]:
    """All tensors whose channels can be scaled; with sums of them those are linked that a sum has as operands."""
    for tensors in _alike(graph):
        makers = [_maker(graph, name) for name in tensors if not _passed(graph, graph.producers.get(name))]
        readers = {name: _readers(graph, name) for name in tensors}
        found = {name: tuple(known for known in some if known) for name, some in readers.items() if some}
        known_makers = tuple(maker for maker in makers if maker is not None)
        known = all(map(all, readers.values())) and len(known_makers) == len(makers)
        if not known or not found or any(name in graph.sinks for name in tensors):
            continue
        axes = {_made_axis(graph, maker.node) for maker in known_makers}
        read = {reader.axis(len(graph.types[name].shape)) for name, some in found.items() for reader in some}
        if len(axes) == 1 and axes == read:
            yield Link(axes.pop(), known_makers, found)


def _alike(graph: Graph) -> list[list[str]]:
    """Tensors in groups that only have the same factors, in the order of the graph."""
    groups: dict[str, list[str]] = {name: [name] for name in graph.sources}
    for node in graph.nodes:
        for name in filter(None, node.outputs):
            groups[name] = [name]
        passed = _passed(graph, node)
        if passed:
            joined = {id(group): group for name in (*passed, node.key) for group in [groups[name]]}
            whole = [name for group in joined.values() for name in group]
            groups.update(dict.fromkeys(whole, whole))
    return list({id(group): group for group in groups.values()}.values())


def _passed(graph: Graph, node: Node | None) -> tuple[str, ...]:
    """The operands whose factors a result has, if and only if all of them have those."""
    if node is None or any(name in graph.constants for name in node.inputs):
        return ()
    same_type = all(graph.types[name] == graph.types[node.key] for name in node.inputs)
    if isinstance(node.op, SCALED_THROUGH) or (isinstance(node.op, Add) and same_type):
        return node.inputs
    return _gated(graph, node) if isinstance(node.op, Mul) and same_type else ()


def _gated(graph: Graph, product: Node) -> tuple[str, ...]:
    """The factor of a product that a layer makes for it alone: the other one, a gate, stays as it is."""
    layers = [name for name in product.inputs if is_only_reader(graph, product, name) and _maker(graph, name)]
    return tuple(layers[:1])


def _made_axis(graph: Graph, maker: Node) -> int:
    rank = len(graph.types[maker.key].shape)
    return 1 if rank > 2 and isinstance(maker.op, Filters) else rank - 1


def _readers(graph: Graph, tensor: str) -> list[Reader | None]:
    """What does more with a tensor than to pass its factors on."""
    readers = graph.consumers.get(tensor, ())
    return [_reader(graph, node, tensor) for node in readers if tensor not in _passed(graph, node)]


def _reader(graph: Graph, node: Node, tensor: str) -> Reader | None:
    """A layer whose weights have a factor for each channel that it reads."""
    layer = linear_layer(graph, node)
    if layer is None or node.inputs[0] != tensor or node.inputs.count(tensor) != 1:
        return None
    if isinstance(node.op, Conv):
        return Reader(layer)
    plain = isinstance(node.op, MatMul) and layer.weights.ndim == 2 and not (node.op.trans_a or node.op.perm_a)
    return Reader(layer) if plain and not getattr(node.op, "perm_b", ()) else None


def _maker(graph: Graph, tensor: str) -> Maker | None:
    """What scales the channels of a tensor."""
    node = graph.producers.get(tensor)
    if node is None or tensor != node.key:
        return None
    layer = linear_layer(graph, node)
    if layer is not None and isinstance(node.op, Conv | MatMul):
        return Maker(node, layer) if takes_bias(layer) else None
    return Maker(node, None) if _is_row_norm(graph, node) else None


def _is_row_norm(graph: Graph, node: Node) -> bool:
    """A normalisation of rows along the last axis, with constants."""
    unread = not any(name in graph.consumers or name in graph.sinks for name in node.outputs[1:])
    if not isinstance(node.op, RowNormalisation) or not unread:
        return False
    last = len(graph.types[node.key].shape) - 1
    return node.op.axis % (last + 1) == last and all(name in graph.constants for name in node.inputs[1:] if name)
