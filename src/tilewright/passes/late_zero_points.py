"""Bytes without a zero point that is known when the network runs have more than 8 bits; kernels multiply bytes.

What the zero point adds to totals is subtracted from those: that many times what ones in the place of bytes would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops._linear import NARROW
from tilewright.ops.cast import Cast
from tilewright.ops.conv import Conv
from tilewright.ops.mul import Mul
from tilewright.ops.sub import Sub
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_multiply_bytes, graph))


def all_bytes(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _operands(graph, node) is not None:
            yield node.where, "multiplies bytes without their zero point"


def _multiply_bytes(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _operands(graph, node)
    if found is None:
        return None
    image, zero = found
    (total,) = builder.add(node.op, [image, *node.inputs[1:]])
    (factor,) = builder.add(Cast("int32"), [zero])
    (too_much,) = builder.add(Mul(), [builder.constant(_totals_of_ones(graph, node), f"{node.key}_ones"), factor])
    builder.add(Sub(), [total, too_much], node.outputs, node.name)
    return {node.key: node.key}


def _operands(graph: Graph, node: Node) -> tuple[str, str] | None:
    """The image of a convolution and its zero point."""
    if not isinstance(node.op, Conv) or node.op.requant is not None or len(node.inputs) != 2:
        return None
    weights = graph.constants.get(node.inputs[1])
    image, zero = bytes_and_zero(graph, node.inputs[0])
    if weights is None or weights.dtype.name not in NARROW or not zero or node.op.x_zero:
        return None
    return (image, zero) if graph.types[zero].elements == 1 else None


def bytes_and_zero(graph: Graph, tensor: str) -> tuple[str, str]:
    """Bytes that a zero point is subtracted from, and that; the tensor itself where there is none."""
    source = graph.producers.get(tensor)
    if source is None or source.op != Sub(wide=True):
        return tensor, ""
    (x, zero), shape = source.inputs, graph.types[tensor].shape
    are_bytes = graph.types[x].dtype == graph.types[zero].dtype and graph.types[x].dtype in NARROW
    return (x, zero) if are_bytes and graph.types[x].shape == shape else (tensor, "")


def _totals_of_ones(graph: Graph, node: Node) -> Array:
    """One value for each filter where there is no padding."""
    _, *shape = graph.types[node.inputs[0]].shape
    found: Array = node.op.numpy(np.ones((1, *shape), np.int32), graph.constants[node.inputs[1]])
    op = node.op
    sides = (
        tuple(range(1, found.ndim - 1)) if isinstance(op, Conv) and op.channels_last else tuple(range(2, found.ndim))
    )
    first: Array = found.min(sides, keepdims=True)
    return first if (found == first).all() else found


LATE_ZERO_POINTS = Pass("zero points after products", run, ensures=all_bytes)
