"""The network as it is quantised: constants folded, normalisations folded into weights, one operator per function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops._filters import Filters
from tilewright.ops.add import Add
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.matmul import MatMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import APPROXIMATE, Complaint, Pass, apply
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.drop_identities import DROP_IDENTITIES
from tilewright.passes.fold_batchnorm import FOLD_BATCHNORM
from tilewright.passes.fold_constants import FOLD_CONSTANTS
from tilewright.passes.fuse_bias import FUSE_BIAS
from tilewright.passes.fuse_patterns import FUSE_PATTERNS
from tilewright.passes.layout.channels_last import ChannelPosition, with_layout
from tilewright.passes.rewriting import rewrite
from tilewright.passes.unroll_control_flow import UNROLL_CONTROL_FLOW
from tilewright.quantiser.prepare.hybrid import UNDO_HYBRID
from tilewright.quantiser.prepare.unit_rows import FUSE_UNIT_ROWS

ALWAYS = 2**40
"""More bytes than any network transposes."""

SECOND = ChannelPosition(False, worth=lambda graph, node: ALWAYS)


def no_channels_last(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if SECOND.lacks(node):
            yield node.where, "still has channels last"


CHANNELS_SECOND = Pass("channels second everywhere", partial(with_layout, SECOND), ensures=no_channels_last)


def prepared(graph: Graph) -> Graph:
    """A float network with the same function; what was done that changes it is said in its notes."""
    refuse_integers(graph)
    # Turn by turn, as far as that is possible: ranges and weights of bodies are not looked at.
    graph = apply(graph, (UNROLL_CONTROL_FLOW,))
    graph = apply(
        graph, (DROP_IDENTITIES, UNDO_HYBRID, STRIP_QUANTISERS, FOLD_CONSTANTS, FUSE_PATTERNS, FUSE_UNIT_ROWS)
    )
    return apply(graph, (CHANNELS_SECOND, FOLD_CONSTANTS, FOLD_BATCHNORM, FUSE_BIAS, FUSE_FILTER_BIAS, FOLD_FACTORS))


def refuse_integers(graph: Graph) -> None:
    """A network in integers has nothing to quantise any more."""
    linear = [node for node in graph.nodes if isinstance(node.op, Filters | MatMul)]
    floats = [node for node in linear if graph.types[node.inputs[0]].dtype == "float32"]
    hybrid = any(graph.types[name].dtype == "float32" for name in graph.inputs)
    if linear and not floats and not hybrid:
        raise CompileError(
            f"network '{graph.name}'", f"is already quantised: all {len(linear)} convolutions and products are integer",
            "compile it as it is, or give the float network",
        )  # fmt: skip


# ---- quantisers that are there ------------------------------------------------------------------------------------


def _stripped(graph: Graph) -> Graph:
    """Without quantisers of activations; weights are what their integers stand for."""
    count = sum(isinstance(node.op, QuantizeLinear) for node in graph.nodes)
    if not any(isinstance(node.op, QuantizeLinear | DequantizeLinear) for node in graph.nodes):
        return graph
    note = f"the network was quantised already: its {count} quantisers are taken out and chosen anew from the samples"
    return rewrite(replace(graph, notes=(*graph.notes, note)), partial(_without_pair, graph))


def _without_pair(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if _is_constant(graph, node):
        return {node.key: builder.constant(node.op.numpy(*(graph.constants[name] for name in node.inputs)), node.key)}
    source = _quantiser(graph, node)
    if source is None:
        return None
    # The builder holds the quantiser already, reading what may have been renamed.
    added = next(n for n in reversed(builder.nodes) if n.outputs == source.outputs)
    return {node.key: added.inputs[0]}


def _is_constant(graph: Graph, node: Node) -> bool:
    return isinstance(node.op, DequantizeLinear) and all(name in graph.constants for name in node.inputs)


def _quantiser(graph: Graph, node: Node) -> Node | None:
    """Whose integers a node turns into numbers."""
    source = graph.producers.get(node.inputs[0]) if isinstance(node.op, DequantizeLinear) else None
    return source if source is not None and isinstance(source.op, QuantizeLinear) else None


def no_pairs(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_constant(graph, node) or _quantiser(graph, node) is not None:
            yield node.where, "still stands for numbers that were quantised"


STRIP_QUANTISERS = Pass("strip quantisers", _stripped, ensures=no_pairs, numbers=APPROXIMATE)


# ---- biases of convolutions ---------------------------------------------------------------------------------------


def _fuse_filter_biases(graph: Graph) -> Graph:
    return rewrite(graph, partial(_with_bias, graph))


def _with_bias(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A constant for each filter that is added to a convolution without a bias becomes its bias."""
    found = _layer_and_bias(graph, node)
    if found is None:
        return None
    layer, bias = found
    name = builder.constant(np.ascontiguousarray(graph.constants[bias].reshape(-1)), bias)
    # The builder holds the convolution already, reading what may have been renamed.
    added = next(n for n in reversed(builder.nodes) if n.outputs == layer.outputs)
    builder.add(layer.op, [*added.inputs[:2], name], node.outputs, layer.name)
    return {node.key: node.key}


def _layer_and_bias(graph: Graph, node: Node) -> tuple[Node, str] | None:
    for made, other in (node.inputs, node.inputs[::-1]) if isinstance(node.op, Add) else ():
        layer, bias = graph.producers.get(made), graph.constants.get(other)
        if layer is None or bias is None or not isinstance(layer.op, Filters) or len(layer.inputs) != 2:
            continue
        shape = graph.types[made].shape
        per_filter = (shape[1], *(1,) * (len(shape) - 2))
        if bias.shape in (per_filter, (1, *per_filter)) and is_only_reader(graph, node, made):
            return layer, other
    return None


def no_added_biases(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if (found := _layer_and_bias(graph, node)) is not None:
            yield node.where, f"adds the constant '{found[1]}' to {found[0].where}, which could do so itself"


FUSE_FILTER_BIAS = Pass(
    "fuse biases of filters", _fuse_filter_biases, requires=no_channels_last, ensures=no_added_biases
)


# ---- factors of matrix products -----------------------------------------------------------------------------------


def _fold_factors(graph: Graph) -> Graph:
    return rewrite(graph, partial(_folded, graph))


def _folded(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """alpha and beta become part of constant weights and biases."""
    if not isinstance(node.op, MatMul) or not _has_factors(graph, node):
        return None
    factors = (node.op.alpha, node.op.beta)
    made = [
        builder.constant(np.asarray(graph.constants[name] * np.float32(factor)), name) if name else ""
        for name, factor in zip(node.inputs[1:3], factors, strict=False)
    ]
    builder.add(replace(node.op, alpha=1.0, beta=1.0), [node.inputs[0], *made], node.outputs, node.name)
    return {node.key: node.key}


def _has_factors(graph: Graph, node: Node) -> bool:
    """Whether there are any that constants could hold."""
    if not isinstance(node.op, MatMul) or (node.op.alpha, node.op.beta) == (1.0, 1.0):
        return False
    return all(name in graph.constants for name in node.inputs[1:3] if name)


def no_factors(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _has_factors(graph, node):
            yield node.where, "multiplies by a factor that its constants could hold"


FOLD_FACTORS = Pass("fold factors of products", _fold_factors, ensures=no_factors)
