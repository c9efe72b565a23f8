"""Attention as exporters write it out, in the form that `fuse_attention` and the quantiser know.

What hides scores is added to them, once; a guard against rows that see nothing is left out where each query sees a key;
views around a transposition are views of the whole tensor. In language models, whose queries all see a key whatever the
mask is computed from, guards go anyway, and factors of queries and keys become one of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.add import Add
from tilewright.ops.div import Div
from tilewright.ops.isnan import IsNaN
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.reshape import Reshape
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose
from tilewright.ops.where import Where
from tilewright.passes import Complaint, Pass
from tilewright.passes.patterns.attention import HIDING, plain_product
from tilewright.passes.rewriting import rewrite

Changed = Mapping[str, str] | None
Rule = Callable[[Graph, Node, Builder], Changed]
VANISHING = -1e30
"""Below it scores are lost that are added: a row of nothing else has equal shares, as chosen ones have."""


def run(rules: Sequence[Rule], graph: Graph) -> Graph:
    """What one rule does may be what another one waits for."""
    tidied = graph
    for rule in rules:
        tidied = rewrite(tidied, partial(rule, tidied))
    return graph if tidied is graph else run(rules, tidied)


def all_tidy(rules: Sequence[Rule], graph: Graph) -> Iterator[Complaint]:
    for rule in rules:
        found: list[Node] = []
        rewrite(graph, partial(_noted, graph, rule, found))
        for node in found:
            yield node.where, "is part of an attention that is written otherwise"


def _noted(graph: Graph, rule: Rule, found: list[Node], node: Node, builder: Builder) -> Changed:
    changed = rule(graph, node, builder)
    found += [node] if changed is not None else []
    return changed


def _maker(builder: Builder, tensor: str) -> Node | None:
    return next((node for node in reversed(builder.nodes) if tensor in node.outputs), None)


def _reaches_softmax_alone(graph: Graph, tensor: str) -> bool:
    """Whether all that is done with a tensor is to add to it and to take its shares."""
    readers = graph.consumers.get(tensor, ())
    return tensor not in graph.sinks and all(
        isinstance(node.op, Softmax) or (isinstance(node.op, Add) and _reaches_softmax_alone(graph, node.key))
        for node in readers
    )


# ---- masks ----------------------------------------------------------------------------------------------------------


def _without_guard(graph: Graph, node: Node, builder: Builder) -> Changed:
    """Shares, or zero where they are no number."""
    if not isinstance(node.op, Where):
        return None
    test, shares = _maker(builder, node.inputs[0]), _maker(builder, node.inputs[2])
    if test is None or shares is None or not isinstance(test.op, IsNaN) or not isinstance(shares.op, Softmax):
        return None
    is_own = test.inputs[0] == node.inputs[2] and graph.types[node.key] == builder.types[node.inputs[2]]
    return {node.key: node.inputs[2]} if is_own else None


def _without_needless_guard(graph: Graph, node: Node, builder: Builder) -> Changed:
    """Where no mask, or one that is known, can hide a whole row."""
    changed = _without_guard(graph, node, builder)
    return changed if changed and _sees_keys(builder, _maker(builder, node.inputs[2])) else None


def _sees_keys(builder: Builder, softmax: Node | None) -> bool:
    """Whether no row of scores is hidden: they are products, factors of such, or those with a known mask."""
    if softmax is None or softmax.op != Softmax(len(builder.type_of(softmax.key).shape) - 1):
        return False
    scores = _maker(builder, softmax.inputs[0])
    mask = _constant_operand(builder, scores) if scores is not None and isinstance(scores.op, Add) else None
    if mask is not None:
        if not np.isfinite(np.atleast_1d(mask[1])).any(axis=-1).all():
            return False
        scores = _maker(builder, mask[0])
    while scores is not None and isinstance(scores.op, Mul | Div | Reshape):
        factor = None if isinstance(scores.op, Reshape) else _constant_operand(builder, scores)
        if not isinstance(scores.op, Reshape) and factor is None:
            return False
        scores = _maker(builder, scores.inputs[0] if factor is None else factor[0])
    return scores is not None and isinstance(scores.op, MatMul)


def _added_mask(graph: Graph, node: Node, builder: Builder) -> Changed:
    """A choice between scores and a very low number."""
    if not isinstance(node.op, Where) or not _reaches_softmax_alone(graph, node.key):
        return None
    chosen = builder.constants.get(node.inputs[0])
    for scores, other, is_seen in ((1, 2, True), (2, 1, False)):
        low = builder.constants.get(node.inputs[other])
        same = builder.type_of(node.inputs[scores]).shape == graph.types[node.key].shape
        if chosen is None or low is None or not same or np.any(low > HIDING):
            continue
        if np.any(low > VANISHING) and _hides_rows(graph, node.key, chosen == is_seen):
            continue
        mask = np.where(chosen == is_seen, np.float32(0), low).astype(np.float32)
        builder.add(Add(), [node.inputs[scores], builder.constant(mask, f"{node.key}_mask")], node.outputs, node.name)
        return {node.key: node.key}
    return None


def _hides_rows(graph: Graph, scores: str, seen: Array) -> bool:
    """Whether a softmax that scores reach has rows of which nothing is seen."""
    return any(
        not np.broadcast_to(seen, graph.types[node.key].shape).any(axis=node.op.axis).all()
        if isinstance(node.op, Softmax)
        else _hides_rows(graph, node.key, seen)
        for node in graph.consumers.get(scores, ())
    )


def _one_mask(graph: Graph, node: Node, builder: Builder) -> Changed:
    """Masks that are added one after another as one; one that hides nothing is none."""
    if not isinstance(node.op, Add) or not _reaches_softmax_alone(graph, node.key):
        return None
    found = _constant_operand(builder, node)
    if found is None:
        return None
    scores, mask = found
    maker = _maker(builder, scores)
    earlier = _constant_operand(builder, maker) if maker is not None and isinstance(maker.op, Add) else None
    if earlier is not None:
        with np.errstate(over="ignore"):
            scores, mask = earlier[0], np.asarray(earlier[1] + mask)
    if builder.type_of(scores).shape != graph.types[node.key].shape:
        return None
    if not np.any(mask):
        return {node.key: scores}
    if earlier is None:
        return None
    builder.add(Add(), [scores, builder.constant(mask, f"{node.key}_mask")], node.outputs, node.name)
    return {node.key: node.key}


def _constant_operand(builder: Builder, node: Node) -> tuple[str, Array] | None:
    """The computed operand of two, and the value of the other."""
    for computed, other in (node.inputs[:2], node.inputs[1::-1]):
        if other in builder.constants and computed not in builder.constants:
            return computed, builder.constants[other]
    return None


# ---- factors and views ----------------------------------------------------------------------------------------------


def _one_factor(graph: Graph, node: Node, builder: Builder) -> Changed:
    """Factors of queries and of keys as one of their products."""
    if plain_product(graph, node) is None or not isinstance(node.op, MatMul):
        return None
    parts = [_factored(builder, name) for name in node.inputs[:2]]
    factor = parts[0][1] * parts[1][1]
    if factor == 1.0 or not _is_scores(graph, node.key):
        return None
    (product,) = builder.add(node.op, [name for name, _ in parts], name=node.name)
    builder.add(
        Mul(), [product, builder.constant(np.array(factor, np.float32), f"{node.key}_factor")], node.outputs, node.name
    )
    return {node.key: node.key}


def _factored(builder: Builder, tensor: str) -> tuple[str, float]:
    node = _maker(builder, tensor)
    found = _constant_operand(builder, node) if node is not None and isinstance(node.op, Mul) else None
    return (found[0], float(found[1].flat[0])) if found is not None and found[1].size == 1 else (tensor, 1.0)


def _is_scores(graph: Graph, tensor: str) -> bool:
    return bool(graph.consumers.get(tensor)) and _reaches_softmax_alone(graph, tensor)


def _whole_transposition(graph: Graph, node: Node, builder: Builder) -> Changed:
    """Without the axis of one that was left out while others were exchanged."""
    turned = _maker(builder, node.inputs[0]) if isinstance(node.op, Reshape) else None
    if turned is None or not isinstance(turned.op, Transpose):
        return None
    before = _maker(builder, turned.inputs[0])
    shape = builder.type_of(turned.inputs[0]).shape
    is_added = graph.types[node.key].shape == (1, *builder.type_of(node.inputs[0]).shape)
    if before is None or not isinstance(before.op, Reshape) or not is_added:
        return None
    source = before.inputs[0]
    if builder.type_of(source).shape != (1, *shape):
        (source,) = builder.add(Reshape((1, *shape)), [source], name=before.name)
    perm = (0, *(axis + 1 for axis in turned.op.perm))
    builder.add(Transpose(perm), [source], node.outputs, node.name)
    return {node.key: node.key}


RULES: tuple[Rule, ...] = (_without_needless_guard, _added_mask, _one_mask, _whole_transposition)
EVERY_QUERY_SEES: tuple[Rule, ...] = (_without_guard, _added_mask, _one_mask, _one_factor, _whole_transposition)
CANONICALIZE_ATTENTION = Pass("attention as one writes it", partial(run, RULES), ensures=partial(all_tidy, RULES))
CANONICALIZE_LANGUAGE = Pass(
    "attention of tokens as one writes it", partial(run, EVERY_QUERY_SEES), ensures=partial(all_tidy, EVERY_QUERY_SEES)
)
