"""Attention of the typed graph that ITA computes exactly: products on both sides of its softmax."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Shape
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass, none_left
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import COLUMNS, FIRST_SOFTMAX, SOFTMAX, Scale, Softmax
from tilewright.targets.ita.attention import ItaAttend, ItaSoftmax
from tilewright.targets.ita.head_views import Heads, heads_of, joined
from tilewright.targets.ita.layout import SIDE, tiles_of
from tilewright.targets.ita.products import check_plain, requantised
from tilewright.targets.ita.tiling import ItaRows, ItaTiles


@dataclass(frozen=True)
class Attended:
    """An attention of ITA, and the tensors that it reads: heads beside each other in rows, or one head."""

    op: ItaAttend
    queries: str
    keys: str
    values: str
    heads: int
    turned: frozenset[str] = frozenset()
    """Which of queries, keys and values are [..., columns, tokens]."""


def softmax_of(node: Node) -> Softmax | None:
    """Which of ITA's softmaxes an operator is."""
    if isinstance(node.op, ItaSoftmax):
        return node.op.softmax
    is_first = isinstance(node.op, ITAPartialMax) and node.op == ITAPartialMax(512, COLUMNS)
    return FIRST_SOFTMAX if is_first else None


def attended(graph: Graph, node: Node, softmax: Softmax = SOFTMAX) -> Attended:
    """What the product of shares and values becomes together with what makes the shares."""
    shares = only_maker(graph, node)
    scores = only_maker(graph, shares) if shares and softmax_of(shares) == softmax else None
    if shares is None or scores is None or not isinstance(scores.op, MatMul) or not isinstance(node.op, MatMul):
        raise Refusal("its first factor is not ITA's softmax of a product")
    scales = total_scale(graph, scores), total_scale(graph, node)
    q, k, v = (heads_of(graph, name) for name in (scores.inputs[0], scores.inputs[1], node.inputs[1]))
    if q.is_turned or v.is_turned != node.op.trans_b or k.is_turned == scores.op.trans_b:
        raise Refusal("it is not an attention: softmax of queries times keys, times values")
    turned: frozenset[str] = frozenset()
    if not _are_whole_tiles(graph, q, k, v):
        q, k, v = (_apart(graph, *one) for one in ((q, scores.inputs[0]), (k, scores.inputs[1]), (v, node.inputs[1])))
        turned = frozenset(one.rows for one in (k, v) if one.is_turned)
    columns = graph.types[q.rows].shape[-1] // q.count
    found = Attended(ItaAttend(*scales, softmax, tiles_of(columns)), q.rows, k.rows, v.rows, q.count, turned)
    _check_sizes(graph, found)
    return found


def _are_whole_tiles(graph: Graph, *views: Heads) -> bool:
    """Whether each head begins with a tile, or is alone."""
    counts = {one.count for one in views}
    widths = {graph.types[one.rows].shape[-1] // one.count for one in views}
    return len(counts) == 1 and (counts == {1} or not any(width % SIDE for width in widths))


def _apart(graph: Graph, view: Heads, tensor: str) -> Heads:
    """Heads one behind the other, as the graph has them."""
    return view if view.count == 1 and not view.is_turned else Heads(tensor, 1, view.is_turned)


def only_maker(graph: Graph, node: Node) -> Node | None:
    """What makes the first operand, if nothing else reads it."""
    source = graph.producers.get(node.inputs[0]) if node.inputs else None
    return source if source and is_only_reader(graph, node, source.key) else None


def total_scale(graph: Graph, node: Node) -> Scale:
    """From totals of scores or mixed values to bytes."""
    op = instance(node.op, MatMul)
    check_plain(op)
    if op.a_zero or op.b_zero or "C" in node.operands():
        raise Refusal("it has zero points or a bias")
    if op.requant is not None and op.requant.dtype != "int8":
        raise Refusal(f"its results are {op.requant.dtype}, ITA writes int8")
    found = requantised(graph, node, op, np.zeros(graph.types[node.key].shape[-1], np.int64))
    if found.bias.any() or found.activation.kind != "identity":
        raise Refusal("its accumulators are offset before they are scaled, or results are clipped to less than int8")
    return found.scale


def _last_two(rank: int) -> tuple[int, ...]:
    """The order of axes that turns matrices."""
    return (*range(rank - 2), rank - 1, rank - 2)


def _check_sizes(graph: Graph, found: Attended) -> None:
    """Keys that are not there would have shares, so that there must be none."""
    names = (found.queries, found.keys, found.values)
    q, k, v = (_untwisted(graph.types[name].shape, name in found.turned) for name in names)
    if (dtypes := {graph.types[name].dtype for name in names}) != {"int8"}:
        raise Refusal(f"queries, keys and values are {', '.join(sorted(dtypes))}; ITA has int8")
    if k != v or (*q[:-2], q[-1]) != (*k[:-2], k[-1]):
        raise Refusal(f"queries {q}, keys {k} and values {v} do not belong together")
    if k[-2] % SIDE:
        raise Refusal(f"{k[-2]} keys are no multiple of {SIDE}, and ITA has no mask")


def _untwisted(shape: Shape, is_turned: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if is_turned else shape


def run(graph: Graph, softmax: Softmax = SOFTMAX) -> Graph:
    """Where heads are put side by side again behind it, that is part of the attention: its rows are."""
    found: dict[str, tuple[Attended, Node]] = {}
    for node in graph.nodes:
        try:
            one = attended(graph, node, softmax)
        except Refusal:
            continue
        end = joined(graph, node) if one.heads > 1 else None
        found[(end or node).key] = one, node
    return rewrite(graph, partial(_on_ita, graph, found))


def _on_ita(
    graph: Graph, found: Mapping[str, tuple[Attended, Node]], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    if node.key not in found:
        return None
    one, mixed = found[node.key]
    order = Transpose(_last_two(len(graph.types[one.values].shape)))
    keys, values = (
        name if is_right else builder.add(order, [name])[0]
        for name, is_right in ((one.keys, one.keys not in one.turned), (one.values, one.values in one.turned))
    )
    tiles = [builder.add(ItaTiles(), [name])[0] for name in (one.queries, keys, values)]
    (made,) = builder.add(one.op, tiles, name=mixed.name)
    queries, width = graph.types[one.queries].shape[-2:]
    (rows,) = builder.add(ItaRows(queries, width), [made], name=mixed.name)
    if one.heads > 1 and node is mixed:
        *before, heads, tokens, columns = graph.types[node.key].shape
        (rows,) = builder.add(Reshape((*before, tokens, heads, columns)), [rows])
        rank = len(before) + 3
        (rows,) = builder.add(Transpose((*range(rank - 3), rank - 2, rank - 3, rank - 1)), [rows], name=node.name)
    builder.add(Reshape(graph.types[node.key].shape), [rows], node.outputs, node.name)
    return {name: name for name in node.outputs}


ATTENTION_ON_ITA = Pass("attention on ITA", run, ensures=none_left(attended, "ends an attention that ITA takes"))
"""Scores, softmax and mixed values where ITA computes them to the bit."""
