"""Matrix products of the typed graph that ITAPool's heads compute exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.matmul import MatMul
from tilewright.passes import Pass, none_left
from tilewright.passes.rewriting import rewrite
from tilewright.targets.ita.layout import SIDE, as_matrix, tiles_of, unpacked_bias
from tilewright.targets.ita.pool.heads import check_bits, grown
from tilewright.targets.ita.pool.product_op import PoolProduct
from tilewright.targets.ita.products import product

FEWEST_ROWS = SIDE
"""Of a product that is worth it: ITA takes as long for one row as for 64."""
MOST_INNER = 4 * SIDE
"""Elements of rows, likewise: of longer ones, L1 has no room for the blocks of four ITAs."""


def check_sizes(rows: int, inner: int, columns: int) -> None:
    """Of products that ITAs take less time for than cores do."""
    if inner > MOST_INNER:
        raise Refusal(f"its rows have {inner} elements: beyond {MOST_INNER}, L1 has no room for blocks of four ITAs")
    if rows < FEWEST_ROWS:
        raise Refusal(f"it has {rows} rows: below {FEWEST_ROWS}, cores are faster than ITAPool's ITAs")
    if columns <= SIDE:
        raise Refusal(f"it has {columns} columns, for one ITA of ITAPool alone: cores are faster")


def pool_product(graph: Graph, node: Node) -> tuple[PoolProduct, Array, Array]:
    """The operator, weights and biases; a `Refusal` says why ITA does not take a node."""
    if not isinstance(node.op, MatMul):
        raise Refusal("ITAPool's ITAs compute attention heads and matrix products only")
    if len(graph.types[node.inputs[1]].shape) < 2:
        raise Refusal("it multiplies by a vector: ITAPool's ITAs take matrices")
    *rows, inner = graph.types[node.inputs[0]].shape
    columns = graph.types[node.key].shape[-1]
    check_sizes(math.prod(rows), inner, columns)
    found = product(graph, node)
    weights, bias = as_matrix(found.weights).T[:inner, :columns], unpacked_bias(found.bias)[:columns]
    check_bits(weights, bias, found.op.scale)
    op = PoolProduct(found.op.scale, found.op.curve, SIDE * (tiles_of(inner) + 1), columns, found.flips_out)
    padded = grown(weights.T, SIDE * tiles_of(columns), op.inner).reshape(-1, SIDE * op.inner)
    return op, padded.astype(np.int8), grown(bias, SIDE * tiles_of(columns)).reshape(-1, SIDE).astype(np.int32)


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_on_ita, graph))


def _on_ita(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    try:
        op, weights, bias = pool_product(graph, node)
    except Refusal:
        return None
    names = builder.constant(weights, node.inputs[1]), builder.constant(bias, f"{node.name}_bias")
    builder.add(op, [node.inputs[0], *names], node.outputs, node.name)
    return {name: name for name in node.outputs}


PRODUCTS_ON_ITAPOOL = Pass(
    "matrix products on ITAPool", run, ensures=none_left(pool_product, "is a product that ITAPool takes")
)
"""Those that it computes to the bit, with enough rows; others stay as they are."""
