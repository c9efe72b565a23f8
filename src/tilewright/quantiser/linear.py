"""Layers with constant weights, all seen as matrices: a row for each result channel."""

from __future__ import annotations

import math

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.ops._filters import Filters
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass


@dataclass(frozen=True)
class LinearLayer:
    """A convolution or product of a float tensor with constants."""

    node: Node
    weights: Array
    bias: Array | None
    """One value per result channel; None where there is none, or another kind of it."""
    channel_axis: int | None
    """The axis of W along which result channels lie; None where a scale per channel is not possible."""

    @property
    def source(self) -> str:
        return self.node.inputs[0]

    @property
    def has_rows(self) -> bool:
        """Whether weights are one matrix (for each group)."""
        return isinstance(self.node.op, Conv) or (isinstance(self.node.op, MatMul) and self.weights.ndim == 2)

    @property
    def has_own_scales(self) -> bool:
        """Whether each result channel has a scale that no other has: filters of several groups share theirs if they are
        transposed."""
        return self.has_rows or (isinstance(self.node.op, ConvTranspose) and self.node.op.groups == 1)

    def rows(self, weights: Array) -> Array:
        """[channels, everything that is summed]"""
        if self.channel_axis is None:
            return weights.reshape(1, -1)
        moved = np.moveaxis(weights, self.channel_axis, 0)
        return np.ascontiguousarray(moved).reshape(moved.shape[0], -1)

    def unrows(self, rows: Array) -> Array:
        """The weights of a matrix."""
        shape = self.weights.shape
        if self.channel_axis is None:
            return rows.reshape(shape)
        first = shape[self.channel_axis]
        rest = [size for axis, size in enumerate(shape) if axis != self.channel_axis]
        return np.ascontiguousarray(np.moveaxis(rows.reshape(first, *rest), 0, self.channel_axis))

    def per_channel(self, values: Array) -> Array:
        """Scales or the like, to be broadcast with the weights."""
        shape = [1] * self.weights.ndim
        if self.channel_axis is not None:
            shape[self.channel_axis] = -1
        return values.reshape(shape)

    def columns(self, x: Array) -> Array:
        """[groups, positions, everything that is summed]: what the rows are multiplied with."""
        op = self.node.op
        if isinstance(op, Conv):
            patches = op.patches(x, op.spatial(self.weights.shape))
            n, channels, *outs, taps = patches.shape
            split = patches.reshape(n, op.groups, channels // op.groups, math.prod(outs), taps)
            return split.transpose(1, 0, 3, 2, 4).reshape(op.groups, n * math.prod(outs), -1)
        product = instance(op, MatMul)
        moved = x.transpose(product.perm_a or range(x.ndim))
        moved = moved.swapaxes(-1, -2) if product.trans_a and x.ndim > 1 else moved
        return moved.reshape(1, -1, moved.shape[-1])

    def channel_means(self, result: Array) -> Array:
        """The mean of each result channel."""
        axis = 1 if isinstance(self.node.op, Filters) else result.ndim - 1
        return np.asarray(result.mean(axis=tuple(a for a in range(result.ndim) if a != axis), dtype=np.float64))


def linear_layer(graph: Graph, node: Node) -> LinearLayer | None:
    """The layer that a node is, if it has float operands and constant weights."""
    if not isinstance(node.op, Filters | MatMul) or graph.types[node.key].dtype != "float32":
        return None
    weights = graph.constants.get(node.inputs[1])
    if weights is None or node.inputs[0] in graph.constants or node.op.activation is not None:
        return None
    axis = _channel_axis(node, weights)
    bias = graph.constants.get(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    if bias is not None and (axis is None or bias.shape != (_channels(graph, node),)):
        bias = None
    return LinearLayer(node, weights, bias, axis)


def linear_layers(graph: Graph) -> dict[str, LinearLayer]:
    """All of them by their results."""
    found = {node.key: linear_layer(graph, node) for node in graph.nodes}
    return {key: layer for key, layer in found.items() if layer is not None}


def takes_bias(layer: LinearLayer) -> bool:
    """Whether a bias per channel can be changed or added."""
    return layer.channel_axis is not None and (layer.bias is not None or not any(layer.node.inputs[2:]))


def channels_of(graph: Graph, layer: LinearLayer) -> int:
    return _channels(graph, layer.node)


def _channels(graph: Graph, node: Node) -> int:
    shape = graph.types[node.key].shape
    return shape[1] if isinstance(node.op, Filters) else shape[-1]


def _channel_axis(node: Node, weights: Array) -> int | None:
    op = node.op
    if isinstance(op, Conv):
        return 0
    if isinstance(op, ConvTranspose):
        return 1
    product = instance(op, MatMul)
    if weights.ndim != 2 or product.perm_b or product.perm_y:
        return None
    return 0 if product.trans_b else 1
