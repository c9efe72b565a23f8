"""Matrix products of the typed graph that ITA computes exactly, and what they become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass, none_left
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.merge_equal import MERGE_EQUAL
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.targets.ita.layout import BIAS_BYTES, SIDE, as_tiles, packed_bias
from tilewright.targets.ita.linear import ItaLinear
from tilewright.targets.ita.op import MOST_TILES
from tilewright.targets.ita.requantising import Fitted, fitted
from tilewright.targets.ita.tiling import ItaRows, ItaTiles

UNSIGNED = 128
MOST_INNER = MOST_TILES * SIDE
"""Elements of a row. Sums of as many products and a bias of 24 bits stay within 26 bits, whatever they are."""


@dataclass(frozen=True, eq=False)
class Product:
    """Rows times a constant matrix, as ITA computes it."""

    op: ItaLinear
    weights: Array
    """A row for each column, in tiles."""
    bias: Array
    flips_in: bool
    flips_out: bool
    """Whether rows and results are uint8: less 128 they are ITA's."""


def product(graph: Graph, node: Node) -> Product:
    """A `Refusal` says why ITA does not take a node."""
    op = node.op
    if not isinstance(op, MatMul):
        raise Refusal("ITA computes matrix products, additions and attention only")
    w = weights_of(graph, node, op)
    columns = w.shape[1]
    bias = _per_column(graph, node, "C", columns)
    zero = op.a_zero - (UNSIGNED if graph.operand_types(node)["A"].dtype == "uint8" else 0)
    total = (np.zeros(columns, np.int64) if bias is None else bias) - zero * w.astype(np.int64).sum(0)
    found = requantised(graph, node, op, total)
    packed = packed_bias(found.bias).reshape(-1, BIAS_BYTES)
    flips = graph.operand_types(node)["A"].dtype == "uint8", graph.types[node.key].dtype == "uint8"
    return Product(ItaLinear(found.scale, found.activation), as_tiles(w.T), packed, *flips)


def requantised(graph: Graph, node: Node, op: MatMul, bias: Array) -> Fitted:
    """The way from totals to results."""
    if op.requant is None:
        raise Refusal("its results are not requantised")
    columns = len(bias)
    mul, add = (_per_column(graph, node, name, columns) for name in ("mul", "add"))
    found = fitted(_with_sign(op.requant), np.ones(1, np.int64) if mul is None else mul, add, bias)
    if isinstance(found, str):
        raise Refusal(found)
    return found


def _with_sign(requant: Requant) -> Requant:
    """To int8, where it is to uint8: all results are 128 less."""
    if requant.dtype != "uint8":
        return requant
    low, high, zero = (value - UNSIGNED for value in (requant.low, requant.high, requant.zero_point))
    return replace(requant, dtype="int8", low=low, high=high, zero_point=zero)


def check_plain(op: MatMul) -> None:
    if op.trans_a or op.perm_a or op.perm_b or op.perm_y:
        raise Refusal("its rows are read or stored in another order")
    if op.activation is not None or (op.alpha, op.beta) != (1.0, 1.0):
        raise Refusal("it does more than multiply and add")


def weights_of(graph: Graph, node: Node, op: MatMul) -> Array:
    """[inner, columns]."""
    types, operands = graph.operand_types(node), node.operands()
    check_plain(op)
    if types["A"].dtype not in ("int8", "uint8"):
        raise Refusal(f"A is {types['A'].dtype}, ITA multiplies int8 and uint8")
    if operands["B"] not in graph.constants or len(types["B"].shape) != 2 or len(types["A"].shape) < 2:
        raise Refusal("its second factor is not one constant matrix")
    b = graph.constants[operands["B"]]
    w = (b.T if op.trans_b else b).astype(np.int64) - op.b_zero
    if not w.size or w.min() < -128 or w.max() > 127:
        raise Refusal("its weights, without their zero point, do not fit int8")
    if w.shape[0] > MOST_INNER:
        raise Refusal(f"its rows have {w.shape[0]} elements, ITA's accumulators have room for {MOST_INNER}")
    return w.astype(np.int8)


def _per_column(graph: Graph, node: Node, name: str, columns: int) -> Array | None:
    """A constant operand as one value, or one for each column."""
    tensor = node.operands().get(name)
    if tensor is None:
        return None
    values = graph.constants.get(tensor)
    if values is None:
        raise Refusal(f"{name} is not constant")
    if values.size not in (1, values.shape[-1]) or values.size not in (1, columns):
        raise Refusal(f"{name} has shape {values.shape}; one value, or one for each column is expected")
    return np.broadcast_to(values.reshape(-1).astype(np.int64), (columns,) if name == "C" else (values.size,)).copy()


# ---- rewriting ----


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_on_ita, graph))


def without_detours(graph: Graph) -> Graph:
    """Tiles of rows that came out of tiles are those, and what is equal is made once."""
    straight = rewrite(graph, partial(_without_detour, graph))
    return MERGE_EQUAL.run(rewrite(straight, partial(_turned, straight)))


def _on_ita(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    try:
        found = product(graph, node)
    except Refusal:
        return None
    (tiles,) = builder.add(ItaTiles(found.flips_in), [node.inputs[0]], name=node.name)
    weights, bias = builder.constant(found.weights, node.inputs[1]), builder.constant(found.bias, f"{node.name}_bias")
    (made,) = builder.add(found.op, [tiles, weights, bias], name=node.name)
    rows, columns = graph.types[node.key].shape[-2:]
    builder.add(ItaRows(rows, columns, found.flips_out), [made], node.outputs, node.name)
    return {name: name for name in node.outputs}


def _without_detour(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    tiles = _tiles_before(graph, node)
    return {node.key: _reshaped(graph, node, tiles, builder)} if tiles is not None else None


def _tiles_before(graph: Graph, node: Node) -> str | None:
    """The tiles that rows came out of which a node puts into tiles again."""
    source = _behind_views(graph, node.inputs[0]) if isinstance(node.op, ItaTiles) else None
    if source is None or not isinstance(source.op, ItaRows):
        return None
    return source.inputs[0] if _is_full(source.op) or _meets_zeros(graph, node) else None


def no_detours(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        tiles = _tiles_before(graph, node)
        if tiles is not None:
            yield node.where, f"makes tiles of rows that came out of the tiles '{tiles}'"


def _behind_views(graph: Graph, tensor: str) -> Node | None:
    """What makes matrices, behind Reshapes that leave them as they are."""
    node = graph.producers.get(tensor)
    while node is not None and isinstance(node.op, Reshape):
        if graph.types[node.inputs[0]].shape[-2:] != graph.types[tensor].shape[-2:]:
            ones = [size for size in graph.types[node.inputs[0]].shape if size != 1]
            if ones != [size for size in graph.types[tensor].shape if size != 1]:
                return None
        node = graph.producers.get(node.inputs[0])
    is_same = node is not None and graph.types[node.key].shape[-2:] == graph.types[tensor].shape[-2:]
    return node if is_same else None


def _reshaped(graph: Graph, node: Node, tiles: str, builder: Builder) -> str:
    """Tiles with the axes that a node has before them."""
    shape = graph.types[node.key].shape
    return tiles if graph.types[tiles].shape == shape else builder.add(Reshape(shape), [tiles])[0]


def _is_full(rows: ItaRows) -> bool:
    return not (rows.rows % SIDE or rows.columns % SIDE)


def _turned(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A product whose result is read transposed: ITA stores it so."""
    transpose = graph.producers.get(node.inputs[0]) if isinstance(node.op, ItaTiles) else None
    if transpose is None or not isinstance(transpose.op, Transpose):
        return None
    perm, rows = transpose.op.perm, _behind_views(graph, transpose.inputs[0])
    made = graph.producers.get(rows.inputs[0]) if rows else None
    if rows is None or made is None or not isinstance(rows.op, ItaRows) or not isinstance(made.op, ItaLinear):
        return None
    is_matrix = perm == (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2)
    if not (is_matrix and is_only_reader(graph, rows, made.key) and _is_full(rows.op)):
        return None
    (result,) = builder.add(replace(made.op, turned=not made.op.turned), made.inputs, name=made.name)
    shape = graph.types[node.key].shape
    return {
        node.key: builder.add(Reshape(shape), [result])[0] if graph.types[made.key].shape[:-4] != shape[:-4] else result
    }


def _meets_zeros(graph: Graph, node: Node) -> bool:
    """Whether nobody sees what lies behind the last columns: weights have zeros for it."""
    readers = graph.consumers.get(node.key, [])
    return node.key not in graph.sinks and all(
        isinstance(reader.op, ItaLinear) and reader.inputs[0] == node.key for reader in readers
    )


PRODUCTS_ON_ITA = Pass("matrix products on ITA", run, ensures=none_left(product, "is a product that ITA takes"))
"""Products that it computes to the bit; others stay as they are."""
STAY_IN_TILES = Pass("tiles stay tiles", without_detours, ensures=no_detours)
