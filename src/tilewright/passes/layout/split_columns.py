"""A product whose columns are cut into heads, as a product for each head: its result can be stored in any order.

[..., m, h * d] seen as [..., m, h, d] is a Transpose of [..., h, m, d], which is a batch of products of A and the
columns of B that belong to each head.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array, Shape
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.layout.permuting import Perm

FEWEST_COLUMNS = 4
"""Of a head: narrower products cost more than the order that they bring."""


def can_split_columns(graph: Graph, view: Node) -> bool:
    """Whether a view cuts the columns of a product with a constant second factor into heads."""
    node = graph.producers.get(view.inputs[0])
    if node is None or not isinstance(node.op, MatMul) or not is_only_reader(graph, view, node.key):
        return False
    op, product = node.op, graph.types[node.key].shape
    plain = not (op.trans_a or op.perm_a or op.perm_b or op.perm_y) and len(graph.types[node.inputs[0]].shape) > 1
    constant = node.inputs[1] in graph.constants and len(graph.types[node.inputs[1]].shape) == 2
    shape = view.op.shape if isinstance(view.op, Reshape) else ()
    heads = shape[:-2] == product[:-1] and 0 not in product and shape[-1] >= FEWEST_COLUMNS
    bias = [name for name in node.inputs[2:3] if name]
    factors = [graph.types[name].shape for name in node.inputs[3:] if name]
    return (
        plain
        and constant
        and heads
        and all(name in graph.constants for name in bias)
        and all(not shape or shape[-1] == 1 for shape in factors)
    )


def split_columns(graph: Graph, view: Node, builder: Builder) -> tuple[str, Perm]:
    """The batch of products, and the order of its axes that the view shows."""
    node = graph.producers[view.inputs[0]]
    product, shape = instance(node.op, MatMul), instance(view.op, Reshape).shape
    heads, rank = shape[-2:], len(shape)
    a = graph.types[node.inputs[0]].shape
    (rows,) = builder.add(Reshape((*a[:-2], 1, *a[-2:])), node.inputs[:1], name=node.name)
    weights = graph.constants[node.inputs[1]]
    weights = (weights if product.trans_b else weights.T).reshape(*heads, -1)
    inputs = [rows, builder.constant(weights.copy(), node.inputs[1])]
    inputs += [builder.constant(_bias(graph.constants[name], heads), name) if name else "" for name in node.inputs[2:3]]
    (batch,) = builder.add(replace(product, trans_b=True), [*inputs, *node.inputs[3:]], name=node.name)
    return batch, (*range(rank - 3), rank - 2, rank - 3, rank - 1)


def _bias(values: Array, heads: Shape) -> Array:
    """What is added to [..., m, h * d], for [..., h, m, d]."""
    shape = (1,) * (2 - values.ndim) + values.shape
    per_head = (*shape[:-1], *(heads if shape[-1] > 1 else (1, 1)))
    return np.ascontiguousarray(values.reshape(per_head).swapaxes(-2, -3))
