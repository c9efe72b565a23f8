"""Layers of bytes whose weights, biases and factors are constants: what engines that pack them begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, Shape, limits
from tilewright.ops._rearranged import MADE, folded_zero, value_per_filter
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass

INT8 = (-128, 127)
WIDE = "int16"


@dataclass(frozen=True, eq=False)
class ConstantLayer:
    """A convolution with channels last; a product of rows and a matrix is one of a single tap."""

    conv: Conv
    """Weights have no zero point."""
    kernel: Shape
    rows: Array
    """Of weights, [filters, length]."""
    values: Mapping[str, Array]
    """One for each filter: of B, mul and add those that there are."""
    start: Array
    """What totals begin with: bias and zero points."""
    largest: Array
    """What no total of a filter exceeds in magnitude."""
    is_depthwise: bool


def constant_layer(graph: Graph, node: Node, images: frozenset[str]) -> ConstantLayer | None:
    """None where something is computed, or too large for 32 bits; `images` are the element types that are taken."""
    dtype = graph.types[node.inputs[0]].dtype if node.inputs else ""
    # Weights of other layers are large, and would be copied for nothing.
    if dtype not in images:
        return None
    found = _conv(graph, node) if isinstance(node.op, Conv) else _product(graph, node)
    if found is None:
        return None
    conv, kernel, rows, names, is_depthwise = found
    given = {name: value_per_filter(graph, tensor, len(rows)) for name, tensor in names.items()}
    values = {name: array for name, array in given.items() if array is not None}
    if len(values) < len(given) or rows.min() < INT8[0] or rows.max() > INT8[1]:
        return None
    start = values.get("B", np.zeros(len(rows), np.int64)) - folded_zero(conv.x_zero, dtype) * rows.sum(1)
    largest = np.abs(start) + np.abs(rows).sum(1) * -limits(WIDE if dtype == WIDE else "int8")[0]
    # Totals of 16-bit elements may leave 32 bits, as those of the graph do.
    fits = dtype == WIDE or largest.max() < 1 << 31
    return ConstantLayer(conv, kernel, rows, values, start, largest, is_depthwise) if fits else None


Found = tuple[Conv, Shape, Array, Mapping[str, str], bool]


def _conv(graph: Graph, node: Node) -> Found | None:
    op, operands = node.op, node.operands()
    if not isinstance(op, Conv) or not op.channels_last or min(op.padding) < 0:
        return None
    weights = graph.constants.get(operands["W"])
    if weights is None or not weights.size:
        return None
    rows = weights.reshape(len(weights), -1).astype(np.int64) - op.w_zero
    is_depthwise = op.groups == len(weights) == graph.types[operands["X"]].shape[-1] and op.groups > 1
    names = {name: operands[name] for name in MADE if name in operands}
    return replace(op, w_zero=0), weights.shape[1:-1], rows, names, is_depthwise


def _product(graph: Graph, node: Node) -> Found | None:
    op, operands = node.op, node.operands()
    if not isinstance(op, MatMul) or not is_plain(op):
        return None
    matrix = graph.constants.get(operands.get("B", ""))
    if matrix is None or matrix.ndim != 2 or not matrix.size or len(graph.types[operands["A"]].shape) < 2:
        return None
    rows = (matrix if op.trans_b else matrix.T).astype(np.int64) - op.b_zero
    conv = Conv((1, 1), (1, 1), (0,) * 4, x_zero=op.a_zero, requant=op.requant, channels_last=True)
    names = {name: operands[own] for name, own in zip(MADE, ("C", "mul", "add"), strict=True) if own in operands}
    return conv, (1, 1), rows, names, False


def is_plain(op: MatMul) -> bool:
    return not (op.trans_a or op.perm_a or op.perm_b or op.perm_y) and (op.alpha, op.beta) == (1.0, 1.0)
