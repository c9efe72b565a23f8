"""Attention of the typed graph that ITA computes exactly: products on both sides of its softmax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.matmul import MatMul
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.targets.snitch.ita.arithmetic import COLUMNS, FIRST_SOFTMAX, SOFTMAX, Scale, Softmax
from tilewright.targets.snitch.ita.attention import ItaAttend, ItaSoftmax
from tilewright.targets.snitch.ita.layout import SIDE
from tilewright.targets.snitch.ita.products import check_plain, requantised, without_detours
from tilewright.targets.snitch.ita.tiling import ItaRows, ItaTiles


@dataclass(frozen=True)
class Attended:
    """An attention, and the tensors that it reads."""

    op: ItaAttend
    queries: str
    keys: str
    values: str


def softmax_of(node: Node) -> Softmax | None:
    """Which of ITA's softmaxes an operator is."""
    if isinstance(node.op, ItaSoftmax):
        return node.op.softmax
    is_first = isinstance(node.op, ITAPartialMax) and node.op == ITAPartialMax(512, COLUMNS)
    return FIRST_SOFTMAX if is_first else None


def attended(graph: Graph, node: Node, softmax: Softmax = SOFTMAX) -> Attended:
    """What the product of shares and values becomes together with what makes the shares."""
    shares = _maker(graph, node)
    scores = _maker(graph, shares) if shares and softmax_of(shares) == softmax else None
    if shares is None or scores is None or not isinstance(scores.op, MatMul) or not isinstance(node.op, MatMul):
        raise Refusal("it is no product with shares that ITA's softmax makes of a product")
    if scores.op.trans_b == node.op.trans_b or node.op.trans_b:
        raise Refusal("it is no product of queries with keys, and of shares with values")
    op = ItaAttend(_scale(graph, scores), _scale(graph, node), softmax)
    found = Attended(op, scores.inputs[0], scores.inputs[1], node.inputs[1])
    _check_sizes(graph, found)
    return found


def _maker(graph: Graph, node: Node) -> Node | None:
    """What makes the first operand, if nothing else reads it."""
    source = graph.producers.get(node.inputs[0]) if node.inputs else None
    return source if source and is_only_reader(graph, node, source.key) else None


def _scale(graph: Graph, node: Node) -> Scale:
    op = instance(node.op, MatMul)
    check_plain(op)
    if op.a_zero or op.b_zero or "C" in node.operands():
        raise Refusal("zero points or a bias stand between its factors and their totals")
    if op.requant is not None and op.requant.dtype != "int8":
        raise Refusal(f"its results are {op.requant.dtype}, ITA makes int8")
    found = requantised(graph, node, op, np.zeros(graph.types[node.key].shape[-1], np.int64))
    if found.bias.any() or found.activation.kind != "identity":
        raise Refusal("its totals are moved before they are scaled, or clipped to less than a byte")
    return found.scale


def _check_sizes(graph: Graph, found: Attended) -> None:
    """Keys that are not there would have shares, so that there must be none."""
    q, k, v = (graph.types[name] for name in (found.queries, found.keys, found.values))
    if {q.dtype, k.dtype, v.dtype} != {"int8"}:
        raise Refusal(f"queries are {q.dtype}, keys {k.dtype} and values {v.dtype}; ITA has int8")
    if k.shape != v.shape or (*q.shape[:-2], q.shape[-1]) != (*k.shape[:-2], k.shape[-1]):
        raise Refusal(f"queries {q.shape}, keys {k.shape} and values {v.shape} do not belong together")
    if k.shape[-2] % SIDE:
        raise Refusal(f"{k.shape[-2]} keys are no multiple of {SIDE}, and ITA has no mask")


def run(graph: Graph, softmax: Softmax = SOFTMAX) -> Graph:
    return without_detours(rewrite(graph, partial(_on_ita, graph, softmax)))


def _on_ita(graph: Graph, softmax: Softmax, node: Node, builder: Builder) -> Mapping[str, str] | None:
    try:
        found = attended(graph, node, softmax)
    except Refusal:
        return None
    axes = range(len(graph.types[found.values].shape))
    (turned,) = builder.add(Transpose((*axes[:-2], axes[-1], axes[-2])), [found.values])
    tiles = [builder.add(ItaTiles(), [name])[0] for name in (found.queries, found.keys, turned)]
    (made,) = builder.add(found.op, tiles, name=node.name)
    rows, columns = graph.types[node.key].shape[-2:]
    builder.add(ItaRows(rows, columns), [made], node.outputs, node.name)
    return {name: name for name in node.outputs}


ATTENTION_ON_ITA = Pass("attention on ITA", run)
"""Scores, softmax and mixed values where ITA computes them to the bit."""
