"""Attention of the typed graph that ITAPool computes exactly: projections, scores, softmax, mixed values; where there
is one head, the projection behind it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass, none_left
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import IDENTITY, POOL_SOFTMAX, Head, Scale
from tilewright.targets.ita.head_views import heads_of, joined
from tilewright.targets.ita.heads import only_maker, softmax_of, total_scale
from tilewright.targets.ita.layout import SIDE, as_matrix, tiles_of, unpacked_bias
from tilewright.targets.ita.pool.block import LONGEST, packed
from tilewright.targets.ita.pool.op import PoolHeads
from tilewright.targets.ita.products import product

PRODUCT_BITS = 31
"""Of a total times its factor: more wrap around."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows times constants, as ITA has it."""

    rows: str
    weights: Array
    """[inner, columns]."""
    bias: Array
    scale: Scale


@dataclass(frozen=True, eq=False)
class Heads:
    """Attention heads: what makes queries, keys and values of rows, and scales of scores and mixed values."""

    queries: Projection
    keys: Projection
    values: Projection
    scores: Scale
    mixed: Scale
    count: int
    output: Projection | None = None
    """What the only head is projected by."""

    @property
    def columns(self) -> int:
        """Of a head's result."""
        return self.width if self.output is None else self.output.weights.shape[1]

    @property
    def width(self) -> int:
        return int(self.queries.weights.shape[1]) // self.count


def attended(graph: Graph, node: Node) -> Heads:
    """What the product of shares and values becomes together with all that it is made of; a `Refusal` says why not."""
    shares = only_maker(graph, node)
    scores = only_maker(graph, shares) if shares and softmax_of(shares) == POOL_SOFTMAX else None
    if shares is None or scores is None or not isinstance(scores.op, MatMul) or not isinstance(node.op, MatMul):
        raise Refusal("its first factor is not ITAPool's softmax of a product")
    scales = _scale(graph, scores), _scale(graph, node)
    q, k, v = (heads_of(graph, name) for name in (scores.inputs[0], scores.inputs[1], node.inputs[1]))
    if q.is_turned or v.is_turned != node.op.trans_b or k.is_turned == scores.op.trans_b:
        raise Refusal("it is not an attention: softmax of queries times keys, times values")
    if len({one.count for one in (q, k, v)}) != 1:
        raise Refusal(f"there are {q.count} heads of queries, {k.count} of keys and {v.count} of values")
    queries, keys, values = (projection(graph, graph.producers.get(one.rows)) for one in (q, k, v))
    found = Heads(queries, keys, values, *scales, q.count)
    _check(graph, found)
    return found


def _scale(graph: Graph, node: Node) -> Scale:
    """From totals of scores or mixed values to bytes. What ITAPool adds behind the shift has 32 bits."""
    requant, name = instance(node.op, MatMul).requant, node.operands().get("add")
    add = graph.constants.get(name) if name is not None else None
    if requant is None or add is None or add.size != 1 or add.item() % (1 << requant.shift):
        return total_scale(graph, node)
    scale = total_scale(graph, replace(node, inputs=node.inputs[: node.inputs.index(name or "")]))
    return replace(scale, add=scale.add + (add.item() >> requant.shift))


def projection(graph: Graph, node: Node | None) -> Projection:
    if node is None:
        raise Refusal("its queries, keys or values are not results of matrix products")
    found = product(graph, node)
    if found.op.curve.kind != IDENTITY or found.flips_out:
        raise Refusal("a product before it is clipped to less than int8, or unsigned")
    inner, columns = graph.types[node.inputs[0]].shape[-1], graph.types[node.key].shape[-1]
    weights, bias = as_matrix(found.weights).T[:inner, :columns], unpacked_bias(found.bias)[:columns]
    check_bits(weights, bias, found.op.scale)
    return Projection(node.inputs[0], weights, bias, found.op.scale)


def check_bits(weights: Array, bias: Array, scale: Scale) -> None:
    """Of weights [inner, columns]."""
    most = np.abs(weights.astype(np.int64)).sum(0) * 128 + np.abs(bias)
    if int(most.max()) * scale.multiplier + (1 << scale.shift >> 1) >> PRODUCT_BITS:
        raise Refusal("its accumulators, times their factor, may not fit ITAPool's 32 bits")


def _check(graph: Graph, found: Heads) -> None:
    x, y = (graph.types[one.rows] for one in (found.queries, found.keys))
    if found.keys.rows != found.values.rows:
        raise Refusal("keys and values are computed from different tensors")
    if y.shape[-2] % SIDE or y.shape[-2] > LONGEST:
        raise Refusal(f"it has {y.shape[-2]} keys: ITAPool has no mask, and takes multiples of {SIDE} up to {LONGEST}")
    if x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-1] or x.shape[-2] > y.shape[-2]:
        raise Refusal(f"queries are computed from {x}, and keys from {y}")
    sizes = {one.weights.shape[1] for one in (found.queries, found.keys, found.values)}
    if len(sizes) != 1 or max(x.shape[-1], found.width) > LONGEST:
        raise Refusal(f"inputs of {x.shape[-1]} and heads of {found.width} columns: ITAPool has up to {LONGEST}")
    if found.width % SIDE and found.queries.scale.add and found.keys.scale.add:
        raise Refusal("neither queries nor keys are zero in the padded columns")


def with_output(graph: Graph, found: Heads, node: Node) -> tuple[Heads, Node]:
    """With the projection behind the only head, if ITA has that too; and the last node of all that it stands for."""
    readers = graph.consumers.get(node.key, [])
    while len(readers) == 1 and isinstance(readers[0].op, Reshape) and is_only_reader(graph, readers[0], node.key):
        node, readers = readers[0], graph.consumers.get(readers[0].key, [])
    if found.count != 1 or len(readers) != 1 or not is_only_reader(graph, readers[0], node.key):
        return found, node
    try:
        output = projection(graph, readers[0])
    except Refusal:
        return found, node
    if output.rows != node.key or output.weights.shape[0] != found.width or output.weights.shape[1] > LONGEST:
        return found, node
    return replace(found, output=output), readers[0]


# ---- constants ----


def operator(graph: Graph, found: Heads) -> PoolHeads:
    inputs = graph.types[found.queries.rows].shape[-1]
    inner, width = (SIDE * tiles_of(size) for size in (max(inputs, found.columns), found.width))
    output = Scale() if found.output is None else found.output.scale
    scales = (*(one.scale for one in (found.queries, found.keys, found.values)), found.scores, found.mixed, output)
    return PoolHeads(scales, inner, width, found.columns, found.output is not None)


def constants(op: PoolHeads, found: Heads) -> tuple[Array, Array]:
    """Packed weights and biases, a row for each head."""
    parts = [packed(_head(op, found, number)) for number in range(found.count)]
    return np.stack([front for front, _ in parts]), np.stack([back for _, back in parts])


def _head(op: PoolHeads, found: Heads, number: int) -> Head:
    own = slice(number * found.width, (number + 1) * found.width)
    q, k, v = (
        (grown(one.weights[:, own], op.inner, op.width), grown(one.bias[own], op.width))
        for one in (found.queries, found.keys, found.values)
    )
    weights = np.eye(found.width, dtype=np.int8) if found.output is None else found.output.weights
    bias = np.zeros(1, np.int64) if found.output is None else found.output.bias
    wo, bo = grown(weights, op.width, op.inner), grown(bias, op.inner)
    return Head(q[0], k[0], v[0], wo, q[1], k[1], v[1], bo, op.scales)


def grown(values: Array, *shape: int) -> Array:
    """With zeros behind the last ones."""
    return np.pad(values, [(0, wanted - size) for size, wanted in zip(values.shape, shape, strict=True)])


# ---- rewriting ----


def run(graph: Graph) -> Graph:
    found: dict[str, tuple[Heads, Node]] = {}
    for node in graph.nodes:
        try:
            heads = attended(graph, node)
        except Refusal:
            continue
        end = joined(graph, node) or node
        if heads.count == 1:
            heads, end = with_output(graph, heads, end)
        found[end.key] = heads, node
    return rewrite(graph, partial(_on_ita, graph, found))


def _on_ita(
    graph: Graph, found: Mapping[str, tuple[Heads, Node]], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    if node.key not in found:
        return None
    heads, mixed = found[node.key]
    op = operator(graph, heads)
    front, back = (
        builder.constant(values, f"{mixed.name}_{name}")
        for name, values in zip(("front", "back"), constants(op, heads), strict=True)
    )
    keys = [] if heads.keys.rows == heads.queries.rows else [heads.keys.rows]
    (rows,) = builder.add(op, [heads.queries.rows, front, back, *keys], name=mixed.name)
    if node is mixed and heads.count > 1:
        rows = _apart(graph, node, rows, builder)
    builder.add(Reshape(graph.types[node.key].shape), [rows], node.outputs, node.name)
    return {name: name for name in node.outputs}


def _apart(graph: Graph, node: Node, rows: str, builder: Builder) -> str:
    """Heads one behind the other, as the graph has them."""
    *before, heads, tokens, columns = graph.types[node.key].shape
    (cut,) = builder.add(Reshape((*before, tokens, heads, columns)), [rows])
    rank = len(before) + 3
    return builder.add(Transpose((*range(rank - 3), rank - 2, rank - 3, rank - 1)), [cut], name=node.name)[0]


HEADS_ON_ITAPOOL = Pass(
    "attention heads on ITAPool", run, ensures=none_left(attended, "ends an attention that ITAPool takes")
)
"""Those that it computes to the bit; others stay as they are."""
