"""A BatchNormalization after a linear operator with constant weights becomes part of its weights and bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.matmul import MatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    made = rewrite(graph, partial(_fold, graph))
    # A normalisation of a normalisation can be folded when that has been.
    return run(made) if any(all_folded(made)) else made


def _fold(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    linear = _foldable(graph, node)
    bias = _bias(graph, linear, node) if linear is not None else None
    if linear is None or bias is None:
        return None
    weight, norm = graph.constants[linear.inputs[1]], [graph.constants[name] for name in node.inputs[1:]]
    scale, shift = instance(node.op, BatchNormalization).scale_and_shift(*norm)
    weights = builder.constant(_scaled(linear.op, weight, scale), linear.inputs[1])
    biases = builder.constant(np.asarray(bias * scale + shift, np.float32), f"{linear.name}_bias")
    # The builder already holds the operator that is replaced, reading what may have been renamed.
    added = next(n for n in reversed(builder.nodes) if n.outputs == linear.outputs)
    op = replace(linear.op, alpha=1.0, beta=1.0) if isinstance(linear.op, MatMul) else linear.op
    (result,) = builder.add(op, [added.inputs[0], weights, biases], name=linear.name)
    return {node.outputs[0]: result}


def _foldable(graph: Graph, node: Node) -> Node | None:
    """The operator with constant weights that a normalisation with constants can be folded into."""
    linear = graph.producers.get(node.inputs[0]) if isinstance(node.op, BatchNormalization) else None
    if linear is None or not is_only_reader(graph, node, node.inputs[0]) or not _is_linear(graph, linear):
        return None
    if instance(node.op, BatchNormalization).axis != _channel_axis(graph, linear):
        return None
    constant = all(name in graph.constants for name in (linear.inputs[1], *node.inputs[1:]))
    return linear if constant and _bias(graph, linear, node) is not None else None


def _is_linear(graph: Graph, node: Node) -> bool:
    """Whether the normalised channels are the filters or columns of a float operator."""
    result = graph.types[node.outputs[0]]
    if result.dtype != "float32" or getattr(node.op, "activation", None) is not None:
        return False
    if isinstance(node.op, MatMul):
        return len(result.shape) == 2 and len(graph.types[node.inputs[1]].shape) == 2
    return isinstance(node.op, Conv | ConvTranspose)


def _channel_axis(graph: Graph, linear: Node) -> int:
    last = isinstance(linear.op, Conv) and linear.op.channels_last
    return len(graph.types[linear.key].shape) - 1 if last else 1


def _bias(graph: Graph, linear: Node, norm: Node) -> Array | None:
    """The bias as it is added, one value per channel; None where it is computed, or differs from row to row."""
    channels: Shape = graph.types[norm.inputs[1]].shape
    if len(linear.inputs) < 3 or not linear.inputs[2]:
        return np.zeros(channels, np.float32)
    bias = graph.constants.get(linear.inputs[2])
    if bias is None or bias.size not in (1, *channels) or (bias.ndim > 1 and bias.shape[-1] != bias.size):
        return None
    beta = linear.op.beta if isinstance(linear.op, MatMul) else 1.0
    return np.broadcast_to(bias.reshape(-1), channels) * np.float32(beta)


def _scaled(op: Op, weight: Array, scale: Array) -> Array:
    """Weights with the factor of each result channel multiplied in."""
    if isinstance(op, MatMul):
        factor = scale * np.float32(op.alpha)
        return np.asarray(weight * (factor[:, None] if op.trans_b else factor), np.float32)
    if isinstance(op, ConvTranspose):
        per_group = weight.reshape(op.groups, -1, *weight.shape[1:])
        factors = scale.reshape(op.groups, 1, -1, *(1,) * (weight.ndim - 2))
        return np.asarray(per_group * factors, np.float32).reshape(weight.shape)
    return np.asarray(weight * scale.reshape(-1, *(1,) * (weight.ndim - 1)), np.float32)


def all_folded(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if (linear := _foldable(graph, node)) is not None:
            yield node.where, f"normalises what {linear.where} makes with constant weights"


FOLD_BATCHNORM = Pass("fold batch normalisation", run, ensures=all_folded)
