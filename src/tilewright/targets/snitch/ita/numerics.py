"""What ITA computes in place of what a quantised network says, for `--numerics hardware`.

Requantisations of products get the nearest factor of 8 bits and round halves up. A softmax between two products becomes
ITA's: its scores are requantised such that a step of one is ln 2, its shares are multiples of 1 / 255. The choice is part of
the operator, made before the reference is taken. What ITA could not compute anyway stays exact: factors for each column,
and attention with zero points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounded import Rounded
from tilewright.ir.types import Array
from tilewright.ops._linear import NARROW
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearsoftmax import EXP_BITS, QLinearSoftmax
from tilewright.passes import Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.numerics.native import NEAR
from tilewright.passes.rewriting import rewrite
from tilewright.targets.snitch.ita.arithmetic import Scale
from tilewright.targets.snitch.ita.attention import ItaSoftmax
from tilewright.targets.snitch.ita.requantising import nearest
from tilewright.targets.snitch.ita.sums import MOST_WEIGHT

STEP = math.log(2)
"""Between two scores, where a share is halved."""
SHARE = 1 / 255
"""Of a row's sum: a step of ITA's shares."""
SAMPLES = 1 << 16
NOTE = "the softmax of {} is ITA's: powers of two of scores in steps of ln 2, rounded down"


@dataclass(frozen=True)
class Attention:
    """A softmax of bytes between two products."""

    scores: Node
    softmax: Node
    mixed: Node


def run(graph: Graph) -> Graph:
    found: list[Rounded] = []
    attentions = {node.key: one for one in _attentions(graph) for node in (one.scores, one.softmax, one.mixed)}
    made = rewrite(graph, partial(_replaced, graph, attentions, found))
    return replace(made, rounded=(*graph.rounded, *found))


ITA_NUMERICS = Pass("requantisations and softmax of ITA", run)


def _replaced(
    graph: Graph, attentions: Mapping[str, Attention], found: list[Rounded], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    attention = attentions.get(node.key)
    if attention is not None and node.key == attention.softmax.key:
        builder.notes.append(NOTE.format(node.name))
        (shares,) = builder.add(ItaSoftmax(), node.inputs[:1], node.outputs, node.name)
        return {node.key: shares}
    if isinstance(node.op, QLinearAdd):
        return _with_short_factors(graph, node, found, builder)
    scale = _scale(graph, node)
    if scale is None:
        return None
    if attention is not None and node.key == attention.scores.key:
        return _with_scale(graph, node, nearest(scale * _step(graph, attention.softmax) / STEP), builder, 0)
    if attention is not None:
        return _with_scale(graph, node, nearest(scale * SHARE / _share(attention.softmax)), builder)
    chosen = nearest(scale)
    found.append(_rounded(node, scale, chosen))
    return _with_scale(graph, node, chosen, builder)


def _attentions(graph: Graph) -> list[Attention]:
    candidates = (_attention(graph, node) for node in graph.nodes if isinstance(node.op, QLinearSoftmax))
    return [one for one in candidates if one is not None]


def _attention(graph: Graph, softmax: Node) -> Attention | None:
    op, scores = instance(softmax.op, QLinearSoftmax), graph.producers.get(softmax.inputs[0])
    readers = graph.consumers.get(softmax.key, [])
    if scores is None or len(readers) != 1 or softmax.key in graph.sinks or softmax.inputs[1] not in graph.constants:
        return None
    (mixed,) = readers
    products = [node for node in (scores, mixed) if isinstance(node.op, MatMul) and _scale(graph, node) is not None]
    is_whole = len(products) == 2 and mixed.inputs[0] == softmax.key and is_only_reader(graph, softmax, scores.key)
    if not is_whole or op.axis != len(graph.types[softmax.key].shape) - 1:
        return None
    return Attention(scores, softmax, mixed) if _has_no_zeros(graph, scores, mixed) else None


def _has_no_zeros(graph: Graph, scores: Node, mixed: Node) -> bool:
    """Queries, keys and values are int8 around zero; where shares have their zero does not matter any more."""
    first, second = instance(scores.op, MatMul), instance(mixed.op, MatMul)
    kinds = {graph.types[name].dtype for name in (*scores.inputs[:2], mixed.inputs[1])}
    return kinds == {"int8"} and not (first.a_zero or first.b_zero or second.b_zero)


def _scale(graph: Graph, node: Node) -> float | None:
    """Of a requantisation that another one may stand for: one for all columns."""
    op = node.op
    if not isinstance(op, MatMul) or op.requant is None or op.requant.dtype not in NARROW:
        return None
    mul = graph.constants.get(node.operands().get("mul", ""))
    if op.requant.rounding != "half_even" or mul is None or mul.size != 1 or graph.types[node.inputs[0]].dtype not in NARROW:
        return None
    return float(mul.reshape(-1)[0]) * 2.0**-op.requant.shift if mul.reshape(-1)[0] > 0 else None


def _step(graph: Graph, softmax: Node) -> float:
    """Between two scores, by which the table of exponentials was made: of its entries, the last ones that are exact."""
    table = graph.constants[softmax.inputs[1]].astype(np.float64)
    last = max(1, int(np.count_nonzero(table > 2.0 ** (EXP_BITS // 2))) - 1)
    return float(EXP_BITS * STEP - math.log(max(table[last], 0.5))) / last


def _share(softmax: Node) -> float:
    op = instance(softmax.op, QLinearSoftmax)
    return 2.0**op.requant.shift / op.numerator


def _with_scale(
    graph: Graph, node: Node, scale: Scale, builder: Builder, zero: int | None = None
) -> Mapping[str, str]:
    """The product with a requantisation of ITA; scores, whose zero point does not matter, have all of a byte."""
    op, operands = instance(node.op, MatMul), node.operands()
    given = instance(op.requant, Requant)
    requant = replace(given, shift=scale.shift, rounding="half_up") if zero is None else full_range(scale.shift, "int8", zero)
    bias = operands.get("C", "")
    if "add" in operands:
        bias = builder.constant(_whole_bias(graph, operands), f"{node.name}_bias")
    mul = builder.constant(np.array([scale.multiplier], np.int32), f"{node.name}_mul")
    is_share = isinstance(graph.producers.get(node.inputs[0]) and graph.producers[node.inputs[0]].op, QLinearSoftmax)
    new = replace(op, requant=requant, a_zero=0 if is_share else op.a_zero)
    (result,) = builder.add(new, [*node.inputs[:2], bias, mul], node.outputs, node.name)
    return {node.key: result}


def _whole_bias(graph: Graph, operands: Mapping[str, str]) -> Array:
    """With what is added to scaled totals as the nearest integer of the totals."""
    mul, add = (graph.constants[operands[name]].astype(np.int64) for name in ("mul", "add"))
    bias = graph.constants[operands["C"]].astype(np.int64) if "C" in operands else np.zeros(1, np.int64)
    return np.asarray(bias + np.rint(add / mul), np.int32).reshape(-1)


def _rounded(node: Node, exact: float, chosen: Scale) -> Rounded:
    """How many totals have another result."""
    requant = instance(instance(node.op, MatMul).requant, Requant)
    low, high = (end - requant.zero_point for end in (requant.low, requant.high))
    totals = np.rint(np.linspace(low / exact, high / exact, SAMPLES))
    ours = np.floor(totals * (chosen.multiplier / 2.0**chosen.shift) + 0.5)
    apart = np.abs(np.clip(ours, low, high) - np.clip(np.rint(totals * exact), low, high)) > 0
    weights = np.exp(-np.abs(totals * exact) * NEAR / 256)
    return Rounded(node.key, node.name, True, float(apart.mean()), float((apart * weights).sum() / weights.sum()))


# ---- sums ----


def _with_short_factors(graph: Graph, node: Node, found: list[Rounded], builder: Builder) -> Mapping[str, str] | None:
    """A sum of two tensors with factors of 8 bits, and one of 8 bits for both."""
    op, kinds = instance(node.op, QLinearAdd), [graph.types[name] for name in node.inputs]
    if op.requant.rounding != "half_even" or min(op.mul_a, op.mul_b) <= 0 or {kind.dtype for kind in kinds} != {"int8"}:
        return None
    new = short_sum(op)
    values = np.arange(-128, 128).astype(np.int8)
    exact, ours = (one.numpy(values[:, None], values[None, :]).astype(np.int64) for one in (op, new))
    apart = np.abs(exact - ours)
    inside = (exact > op.requant.low) & (exact < op.requant.high)
    weights = np.exp(-np.abs(exact - op.requant.zero_point) * NEAR / 256) * inside
    is_near = bool(apart.max() <= 1)
    shares = [float((apart * one).sum() / max(one.sum(), 1e-9)) for one in (inside, weights)]
    found.append(Rounded(node.key, node.name, is_near, *shares))
    if not is_near:
        return None
    (result,) = builder.add(new, node.inputs, node.outputs, node.name)
    return {node.key: result}


def short_sum(op: QLinearAdd) -> QLinearAdd:
    """The nearest of those that ITA has."""
    unit = 2.0**-op.requant.shift
    slopes = op.mul_a * unit, op.mul_b * unit
    candidates = [_short(op, slopes, most) for most in range(MOST_WEIGHT // 2, MOST_WEIGHT + 1)]
    return min(candidates, key=lambda new: _error(new, slopes))


def _short(op: QLinearAdd, slopes: tuple[float, float], most: int) -> QLinearAdd:
    first, second = (max(1, round(most * slope / max(slopes))) for slope in slopes)
    scale = nearest(max(slopes) / most)
    mul, shift = scale.multiplier, scale.shift
    offset = round(op.offset * 2.0 ** (shift - op.requant.shift) / mul) * mul
    return QLinearAdd(first * mul, second * mul, offset, replace(op.requant, shift=shift, rounding="half_up"))


def _error(new: QLinearAdd, slopes: tuple[float, float]) -> float:
    unit = 2.0**-new.requant.shift
    return max(abs(new.mul_a * unit - slopes[0]), abs(new.mul_b * unit - slopes[1]))
