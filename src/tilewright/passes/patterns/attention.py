"""Attention that is written out: a product of queries and keys, its softmax, and a product with values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape
from tilewright.ops._attention_rows import AttentionRows
from tilewright.ops._masked_attention import MaskedAttention
from tilewright.ops._scaling import Scaling
from tilewright.ops.add import Add
from tilewright.ops.div import Div
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.isnan import IsNaN
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.reshape import Reshape
from tilewright.ops.softmax import Softmax
from tilewright.ops.tanh import Tanh
from tilewright.ops.where import Where
from tilewright.passes.aliasing import is_only_reader
from tilewright.records import dataclass

HIDING = -1e4
"""What exporters add at most to floats that a softmax must not see."""


@dataclass(frozen=True)
class Written:
    """Two products and what is between them; all tensors are heads first: [(batch,) head, token, channel]."""

    op: AttentionRows
    queries: str
    keys: str
    """With tokens and channels exchanged where `turned`."""
    turned: bool
    values: str
    table: str
    """Of the softmax; empty for floats."""
    shape: Shape
    """Of the scores: batch, heads, queries, keys."""
    mask: str = ""
    """What a masked attention adds to the scores, or hides them by."""


@dataclass(frozen=True)
class Shares:
    """A softmax: what it is of, and which scores are seen."""

    node: Node
    reader: Node
    """Of the scores: the softmax itself, or what masks and scales them."""
    scores: str
    mask: Array | None
    """True where a score is seen; None where all are."""
    added: float = -math.inf
    """The largest number that hides a score."""
    scale: float = 1.0
    cap: float = 0.0
    """What scores are bent below: cap * tanh(score / cap); 0: nothing."""
    operand: str = ""
    """A mask that is a tensor."""
    masking: MaskedAttention = MaskedAttention()
    """What that does."""


def written_attention(graph: Graph, node: Node) -> Written | None:
    """What a node ends, if that is an attention."""
    mixing = plain_product(graph, node)
    source = _maker(graph, node, node.inputs[0], through_views=True) if mixing else None
    shares = _guarded_shares(graph, source) if source else None
    product = _maker(graph, shares.reader, shares.scores, through_views=True) if shares else None
    scoring = plain_product(graph, product) if product else None
    if mixing is None or shares is None or product is None or scoring is None or mixing.trans_b:
        return None
    shape = _four_axes(graph.types[shares.node.key].shape)
    op = _operator(graph, shares, product, node)
    seeing = None if shape is None or op is None else _seeing(op, shares.mask, *shape[-2:])
    queries = None if shape is None else _queries(graph, product.inputs[0], shape)
    if seeing is None or queries is None or shape is None or not _fits(graph, shares.operand, shape):
        return None
    table = shares.node.inputs[-1] if isinstance(seeing, QLinearAttention) else ""
    return Written(
        seeing, queries, product.inputs[1], not scoring.trans_b, node.inputs[1], table, shape, shares.operand
    )


def _seeing(op: AttentionRows, mask: Array | None, queries: int, keys: int) -> AttentionRows | None:
    """With the keys that a mask shows; None for masks that it cannot say."""
    first = keys - 1 if mask is None else _first_seen(mask, queries, keys)
    if first is None:
        return None
    return op if first == keys - 1 else replace(op, causal=True, first=first)


def _queries(graph: Graph, tensor: str, scores: Shape) -> str | None:
    """As heads, where those that share keys may have been written as rows of one product."""
    wanted = (*scores[:3], graph.types[tensor].shape[-1])
    source = graph.producers.get(tensor)
    for name in (tensor, source.inputs[0] if source and isinstance(source.op, Reshape) else tensor):
        if _four_axes(graph.types[name].shape) == wanted:
            return name
    return None


def plain_product(graph: Graph, node: Node) -> MatMul | None:
    """A matrix product of two computed matrices, with nothing added and in the order in which it is written."""
    op = node.op
    if not isinstance(op, MatMul) or op.trans_a or op.perm_a or op.perm_b or op.perm_y or op.activation:
        return None
    if len(node.inputs) > 2 and node.inputs[2]:
        return None
    ranks = {len(graph.types[name].shape) for name in node.inputs[:2]}
    return op if ranks <= {3, 4} and len(ranks) == 1 and not set(node.inputs[:2]) & graph.constants.keys() else None


def _maker(graph: Graph, reader: Node, tensor: str, through_views: bool = False) -> Node | None:
    """What makes a tensor for one reader alone, in another shape perhaps."""
    while True:
        source = graph.producers.get(tensor)
        if source is None or not is_only_reader(graph, reader, tensor):
            return None
        if not (through_views and isinstance(source.op, Reshape)):
            return source
        reader, tensor = source, source.inputs[0]


def _four_axes(shape: Shape) -> Shape | None:
    return (1,) * (4 - len(shape)) + shape if len(shape) in (3, 4) else None


def _first_seen(mask: Array, queries: int, keys: int) -> int | None:
    """How many keys are before the first query's own, if each query sees those up to its own; None otherwise."""
    if math.prod(mask.shape[:-2]) != 1:
        return None
    shown = np.broadcast_to(mask.reshape(mask.shape[-2:]), (queries, keys))
    first = int(shown[0].sum()) - 1
    causal = np.arange(keys)[None, :] <= first + np.arange(queries)[:, None]
    if shown.all():
        return keys - 1
    return first if first >= 0 and first + queries <= keys and np.array_equal(shown, causal) else None


# ---- softmaxes --------------------------------------------------------------------------------------------------


def _shares(graph: Graph, node: Node) -> Shares | None:
    last = len(graph.types[node.key].shape) - 1
    if isinstance(node.op, QLinearMaskedSoftmax):
        mask = graph.constants.get(node.inputs[1])
        return None if mask is None else Shares(node, node, node.inputs[0], np.atleast_2d(mask != 0))
    if isinstance(node.op, QLinearSoftmax):
        return Shares(node, node, node.inputs[0], None) if node.op.axis == last else None
    if isinstance(node.op, Softmax):
        return _float_shares(graph, node) if node.op.axis in (-1, last) else None
    return None


def _guarded_shares(graph: Graph, node: Node) -> Shares | None:
    """Of a softmax whose rows without any key are made zeros."""
    softmax = _guarded(graph, node)
    found = _shares(graph, softmax or node)
    if softmax is None or found is None:
        return found
    return replace(found, masking=replace(found.masking, empty_is_zero=True)) if found.operand else None


def _guarded(graph: Graph, node: Node) -> Node | None:
    """The softmax whose elements a node takes, but for zeros in place of what is no number."""
    if not isinstance(node.op, Where) or not _is_zero(graph, node.inputs[1]):
        return None
    test, softmax = (graph.producers.get(node.inputs[at]) for at in (0, 2))
    if test is None or softmax is None or not isinstance(test.op, IsNaN) or not isinstance(softmax.op, Softmax):
        return None
    if graph.types[node.key] != graph.types[softmax.key]:
        return None  # zeros with more axes repeat the shares
    readers = {reader.key for reader in graph.consumers[softmax.key]}
    is_own = test.inputs[0] == softmax.key and readers == {test.key, node.key} and softmax.key not in graph.sinks
    return softmax if is_own and is_only_reader(graph, node, test.key) else None


def _is_zero(graph: Graph, tensor: str) -> bool:
    value = graph.constants.get(tensor)
    return value is not None and not np.any(value)


def _float_shares(graph: Graph, node: Node) -> Shares | None:
    found = _with_operand(graph, _masked(graph, Shares(node, node, node.inputs[0], None)))
    if found.operand and found.mask is None:
        inner = _masked(graph, found)
        found = inner if found.masking.hidden == -math.inf else found
    if found.operand and found.added > -math.inf:
        return None
    found = _scaled(graph, _capped(graph, found))
    # Heads that share keys may have been written as rows of one product.
    scores, shares = graph.types[found.scores], graph.types[node.key]
    return found if scores.elements == shares.elements and scores.shape[-1:] == shares.shape[-1:] else None


def _masked(graph: Graph, shares: Shares) -> Shares:
    """Without a constant that is added, if all that it does is to hide scores."""
    source = _maker(graph, shares.reader, shares.scores)
    found = _with_constant(graph, source) if source and isinstance(source.op, Add) else None
    if source is None or found is None:
        return shares
    hidden = found[1] <= HIDING
    if np.any(found[1][~hidden]) or not _is_causal(graph, shares, ~hidden):
        return shares
    added = float(found[1].max(initial=-np.inf, where=hidden))
    return replace(shares, reader=source, scores=found[0], mask=np.atleast_2d(~hidden), added=added)


def _is_causal(graph: Graph, shares: Shares, shown: Array) -> bool:
    shape = graph.types[shares.node.key].shape
    return len(shape) > 1 and _first_seen(np.atleast_2d(shown), *shape[-2:]) is not None


def _with_operand(graph: Graph, shares: Shares) -> Shares:
    """Without any other tensor that is added to the scores, or that hides some of them."""
    source = _maker(graph, shares.reader, shares.scores)
    if source is None or graph.types[source.key].shape != graph.types[shares.node.key].shape:
        return shares
    if isinstance(source.op, Add):
        for scores, mask in (source.inputs, source.inputs[::-1]):
            if _is_scored(graph, source, scores):
                return replace(shares, reader=source, scores=scores, operand=mask)
    if isinstance(source.op, Where):
        return _hiding(graph, shares, source)
    return shares


def _hiding(graph: Graph, shares: Shares, node: Node) -> Shares:
    for at, other in ((1, 2), (2, 1)):
        hidden = graph.constants.get(node.inputs[other])
        if hidden is not None and hidden.size == 1 and _is_scored(graph, node, node.inputs[at]):
            masking = MaskedAttention(shows=at == 1, hidden=float(hidden.flat[0]))
            return replace(shares, reader=node, scores=node.inputs[at], operand=node.inputs[0], masking=masking)
    return shares


def _is_scored(graph: Graph, reader: Node, tensor: str) -> bool:
    """Whether a product makes a tensor, which is then scaled or bent or hidden in part."""
    source = _maker(graph, reader, tensor, through_views=True)
    if source is None or isinstance(source.op, MatMul):
        return source is not None and plain_product(graph, source) is not None
    if not isinstance(source.op, Mul | Div | Tanh | Add):
        return False
    found = (source.inputs[0], None) if isinstance(source.op, Tanh) else _with_constant(graph, source)
    return found is not None and _is_scored(graph, source, found[0])


def _fits(graph: Graph, mask: str, scores: Shape) -> bool:
    """Whether a mask, where there is one, broadcasts with the scores."""
    if not mask:
        return True
    shape = _four_axes((1,) * (3 - len(graph.types[mask].shape)) + graph.types[mask].shape)
    return shape is not None and all(size in (1, most) for size, most in zip(shape, scores, strict=True))


def _capped(graph: Graph, shares: Shares) -> Shares:
    """Without a factor of hyperbolic tangents; their scores are then those divided by it."""
    factor = _scaled(graph, shares)
    source = _maker(graph, factor.reader, factor.scores, through_views=True) if factor is not shares else None
    if source is None or not isinstance(source.op, Tanh) or factor.scale <= 0:
        return shares
    return replace(factor, reader=source, scores=source.inputs[0], scale=1.0, cap=factor.scale)


def _scaled(graph: Graph, shares: Shares) -> Shares:
    """Without factors or divisors of all scores."""
    found = _scaled_once(graph, shares)
    return found if found is shares else _scaled(graph, found)


def _scaled_once(graph: Graph, shares: Shares) -> Shares:
    source = _maker(graph, shares.reader, shares.scores, through_views=True)
    found = _with_constant(graph, source) if source and isinstance(source.op, Mul | Div) else None
    if source is None or found is None or found[1].size != 1 or found[0] != source.inputs[0]:
        return shares
    factor = float(found[1].flat[0])
    scale = factor if isinstance(source.op, Mul) else 1.0 / factor if factor else 0.0
    return replace(shares, reader=source, scores=found[0], scale=shares.scale * scale) if scale else shares


def _with_constant(graph: Graph, node: Node) -> tuple[str, Array] | None:
    """The computed operand of two, and the value of the constant one."""
    for computed, other in (node.inputs, node.inputs[::-1]):
        if other in graph.constants and computed not in graph.constants:
            return computed, graph.constants[other]
    return None


# ---- operators --------------------------------------------------------------------------------------------------


def _operator(graph: Graph, shares: Shares, scoring: Node, mixing: Node) -> AttentionRows | None:
    if graph.types[mixing.key].dtype != "float32":
        return _integer(graph, shares, scoring, mixing)
    products = [instance(node.op, MatMul) for node in (scoring, mixing)]
    if products[1].alpha != 1.0:
        return None
    scale = shares.scale * products[0].alpha
    if shares.operand:
        return None if shares.cap else replace(shares.masking, scale=scale)
    return LimitedAttention(scale=scale * shares.cap, cap=shares.cap) if shares.cap else FusedAttention(scale=scale)


def _integer(graph: Graph, shares: Shares, scoring: Node, mixing: Node) -> QLinearAttention | None:
    score, mix = scaling(graph, scoring), scaling(graph, mixing)
    products = [instance(node.op, MatMul) for node in (scoring, mixing)]
    softmax = _tables(shares.node.op)
    if score is None or mix is None or products[1].a_zero != softmax.requant.zero_point:
        return None
    return QLinearAttention(
        q_zero=products[0].a_zero, k_zero=products[0].b_zero, v_zero=products[1].b_zero, score=score, softmax=softmax,
        mix=mix,
    )  # fmt: skip


def _tables(op: Op) -> QLinearMaskedSoftmax:
    if isinstance(op, QLinearSoftmax):
        return QLinearMaskedSoftmax(op.numerator, op.requant)
    return instance(op, QLinearMaskedSoftmax)


def scaling(graph: Graph, node: Node) -> Scaling | None:
    """The one factor and summand that the totals of a product are requantised with."""
    op, (mul, add) = instance(node.op, MatMul), ([*node.inputs[3:], "", ""])[:2]
    numbers = [_number(graph, name, default) for name, default in ((mul, 1), (add, 0))]
    if op.requant is None or op.requant.has_exponents or numbers[0] is None or numbers[1] is None:
        return None
    return Scaling(numbers[0], numbers[1], op.requant)


def _number(graph: Graph, name: str, default: int) -> int | None:
    """The only value of a constant; None where it is none, or has several."""
    values = graph.constants.get(name)
    if not name:
        return default
    return int(values.flat[0]) if values is not None and values.size == 1 else None
