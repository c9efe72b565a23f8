"""Which convolutions and products of floats are offered in the forms of float_forms.py."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, as_computed
from tilewright.ops._packing import pack_rows, pack_values
from tilewright.ops._rearranged import value_per_filter
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.processors import Vectors
from tilewright.target.target import Offer
from tilewright.targets.cpu.float_forms import (
    FloatForm,
    PanelConv,
    PanelProduct,
    TapConv,
    panels,
    tap_by_tap,
)
from tilewright.targets.cpu.winograd import WinogradConv, is_worth_it, transformed


def forms(vectors: Vectors, graph: Graph, node: Node) -> list[Offer]:
    width = vectors.bytes // 2
    offer = _conv(width, graph, node) if isinstance(node.op, Conv) else _product(width, graph, node)
    return [] if offer is None else [offer]


def _conv(width: int, graph: Graph, node: Node) -> Offer | None:
    """A convolution with channels last and constant weights and bias."""
    op, operands = node.op, node.operands()
    weights = graph.constants.get(operands["W"])
    if not isinstance(op, Conv) or not op.channels_last or min(op.padding) < 0 or weights is None:
        return None
    bias = value_per_filter(graph, operands.get("B"), len(weights), np.float32)
    if not _are_floats(graph, node) or bias is None or not weights.size:
        return None
    rows = weights.reshape(len(weights), -1)
    if op.groups == len(weights) == graph.types[operands["X"]].shape[-1] and op.groups > 1:
        taps = pack_rows(tap_by_tap(width // 2), rows, op.groups)
        made = {"W": taps, "B": np.pad(bias, (0, taps.shape[1] - len(bias)))}
        return _offer(node, TapConv(len(weights), weights.shape[1:-1], op), made)
    channels, results = weights.shape[-1], graph.types[node.key].shape[1:-1]
    if is_worth_it(op, weights.shape[1:-1], channels, len(weights), results, width // 2):
        made = {"W": transformed(weights, width), "B": _filled(bias, 1, width)}
        return _offer(node, WinogradConv(len(weights), weights.shape[1:-1], op), made)
    made = {"W": pack_rows(panels(width), rows, op.groups), "B": _filled(bias, op.groups, width)}
    return _offer(node, PanelConv(len(weights), weights.shape[1:-1], op), made)


def _product(width: int, graph: Graph, node: Node) -> Offer | None:
    """A product of rows and a constant matrix."""
    op, operands = node.op, node.operands()
    if not isinstance(op, MatMul) or op.trans_a or op.perm_a or op.perm_b or op.perm_y:
        return None
    matrix = graph.constants.get(operands["B"])
    if matrix is None or matrix.ndim != 2 or not matrix.size or len(graph.types[operands["A"]].shape) < 2:
        return None
    rows = as_computed(matrix if op.trans_b else matrix.T)
    bias = value_per_filter(graph, operands.get("C"), len(rows), np.float32)
    if not _are_floats(graph, node) or bias is None:
        return None
    scaled = rows if op.alpha == 1.0 else rows * np.float32(op.alpha)
    start = bias if op.beta == 1.0 else bias * np.float32(op.beta)
    made = {"W": pack_rows(panels(width), scaled), "B": _filled(start, 1, width)}
    return _offer(node, PanelProduct(len(rows), op.activation), made)


def _filled(values: Array, groups: int, width: int) -> Array:
    """Whole panels of them."""
    return pack_values(f"(g f/{width} f:{width})", values, groups)


def _offer(node: Node, op: FloatForm | PanelProduct, made: Mapping[str, Array]) -> Offer:
    constants = {f"{node.key}_{name}_vectors": array for name, array in made.items()}
    return Offer(op, (node.inputs[0], *constants), constants)


def _are_floats(graph: Graph, node: Node) -> bool:
    names = (node.inputs[0], node.inputs[1], node.key)
    return all(graph.types[name].dtype == "float32" for name in names)
