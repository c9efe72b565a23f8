"""What the totals of a layer of bytes with constant weights can be, and how they are requantised."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, limits
from tilewright.ops._linear import NARROW, centred
from tilewright.ops._rearranged import value_per_filter
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.requant.spec import RequantSpec


def layer_totals(graph: Graph, node: Node) -> RequantSpec | None:
    """Of a layer of bytes with constant weights, and how they are requantised."""
    op = node.op
    if not isinstance(op, Conv | MatMul) or op.requant is None or graph.types[node.inputs[0]].dtype not in NARROW:
        return None
    operands, weights = node.operands(), _weights(graph, node)
    if weights is None:
        return None
    names = [name for name in (_bias_name(node), "mul", "add") if name in operands]
    values = {name: value_per_filter(graph, operands[name], len(weights)) for name in names}
    if any(value is None for value in values.values()):
        return None
    low, high = _ends(graph, node, weights)
    bias, mul, add = layer_bias(graph, node, len(weights)), values["mul"], values.get("add")
    return None if mul is None else RequantSpec(op.requant, mul, add, low + bias, high + bias)


def _bias_name(node: Node) -> str:
    return "B" if isinstance(node.op, Conv) else "C"


def layer_bias(graph: Graph, node: Node, filters: int) -> Array:
    """One for each filter, which is known to be so."""
    name = node.operands().get(_bias_name(node))
    found = value_per_filter(graph, name, filters)
    return np.zeros(filters, np.int64) if found is None else found


def _weights(graph: Graph, node: Node) -> Array | None:
    """[filters, products], without their zero point."""
    constant = graph.constants.get(node.inputs[1])
    if constant is None or not constant.size:
        return None
    if isinstance(node.op, Conv):
        return centred(constant, node.op.w_zero).astype(np.int64).reshape(len(constant), -1)
    if not isinstance(node.op, MatMul) or constant.ndim != 2 or node.op.perm_b:
        return None
    return centred(constant if node.op.trans_b else constant.T, node.op.b_zero).astype(np.int64)


def _ends(graph: Graph, node: Node, weights: Array) -> tuple[Array, Array]:
    """The smallest and largest sums of products; padding is the zero point, which adds nothing."""
    zero = node.op.x_zero if isinstance(node.op, Conv) else getattr(node.op, "a_zero", 0)
    low, high = (limit - zero for limit in limits(graph.types[node.inputs[0]].dtype))
    below, above = min(low, 0), max(high, 0)
    positive = np.maximum(weights, 0).sum(axis=1)
    negative = weights.sum(axis=1) - positive
    return positive * below + negative * above, positive * above + negative * below
