"""What ITA computes in place of what a quantised network says, for `--numerics hardware`.

Requantisations of products get the nearest factor of 8 bits and round halves up. A softmax between two products becomes
ITA's: its scores are requantised such that a step of one is ln 2, its shares are multiples of 1 / 255. The choice is
part of the operator, made before the reference is taken. Weights with a scale for each column get one for all: ITA has
one factor for them. Queries, keys and values have no zero point there: products that make them are centred, in steps so
much larger that nothing more is clipped. A table that stands for GELU between two products becomes ITA's polynomial,
and the weights behind it change their signs. What ITA could not compute anyway stays exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.numerics_record import NumericsRecord
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops._linear import NARROW
from tilewright.ops.lookup import Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearsoftmax import EXP_BITS, QLinearSoftmax
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import APPROXIMATE, Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.requant.spec import NEAR
from tilewright.targets.ita.arithmetic import SOFTMAX, Activation, Scale, Softmax
from tilewright.targets.ita.attention import ItaSoftmax
from tilewright.targets.ita.gelu import ItaGelu, curve_of, gelu_fit
from tilewright.targets.ita.layout import SIDE
from tilewright.targets.ita.products import weights_of
from tilewright.targets.ita.requantising import nearest
from tilewright.targets.ita.short_sums import compared, short_sum

STEP = math.log(2)
"""Between two scores where a share is halved."""
SAMPLES = 1 << 16
GELU_NOTE = "{} is ITA's GELU: a polynomial"
NOTE = "the softmax of {} is ITA's: powers of two of scores in steps of {}, rounded down"


@dataclass(frozen=True)
class Attention:
    """A softmax of bytes between two products."""

    scores: Node
    softmax: Node
    mixed: Node
    steps: tuple[float, float, float]
    """How much larger those of queries, keys and values become where they are centred."""
    centred: Mapping[str, float]
    """The products that make those with a zero point, by their keys, and their steps."""


@dataclass(frozen=True)
class Parts:
    """Of a graph, what gets ITA's numbers where not all does that may: attention and products, and nothing else."""

    attention: Callable[[Graph, Attention], frozenset[str]]
    """The products besides its own two that get them with it, by their keys; none where it stays as it is."""
    product: Callable[[Graph, Node], bool]


def run(graph: Graph, softmax: Softmax = SOFTMAX, parts: Parts | None = None) -> Graph:
    return _Replacing(graph, softmax, parts).run()


def none_exact(graph: Graph, softmax: Softmax = SOFTMAX, parts: Parts | None = None) -> Iterator[Complaint]:
    left = _Replacing(graph, softmax, parts)
    for key in left.softmaxes:
        yield graph.producers[key].where, "is a softmax between products, which ITA computes otherwise"
    for key in left.gelus:
        yield graph.producers[key].where, "stands for GELU between products, which ITA computes otherwise"


ITA_NUMERICS = Pass("requantisations and softmax of ITA", run, ensures=none_exact, numbers=APPROXIMATE)


class _Replacing:
    """A graph with ITA's numbers, and how far they are from the graph's own."""

    def __init__(self, graph: Graph, softmax: Softmax, parts: Parts | None) -> None:
        self.graph, self.softmax = graph, softmax
        self.found: list[NumericsRecord] = []
        attentions = [one for one in map(self._attention, graph.nodes) if one is not None]
        self.products: frozenset[str] | None = None
        """Which products get ITA's numbers; None for all that may."""
        if parts is not None:
            around = [(one, parts.attention(graph, one)) for one in attentions]
            attentions = [one for one, products in around if products]
            alone = frozenset(node.key for node in graph.nodes if parts.product(graph, node))
            self.products = alone.union(*(products for _, products in around))
        self.scores = {one.scores.key: one for one in attentions}
        self.softmaxes = {one.softmax.key: one for one in attentions}
        self.mixed = {one.mixed.key: one for one in attentions}
        gelus = [one for one in (_gelu(graph, node) for node in graph.nodes) if one is not None and parts is None]
        self.gelus = {one.table.key: one for one in gelus}
        self.negated = {one.after.key: one for one in gelus}
        self.centred = {key: step for one in attentions for key, step in one.centred.items()}
        self.centred |= {one.before.key: one.wider for one in gelus}

    def run(self) -> Graph:
        made = rewrite(self.graph, self._replaced)
        return replace(made, numerics_records=(*self.graph.numerics_records, *self.found))

    def _attention(self, softmax: Node) -> Attention | None:
        graph, op = self.graph, softmax.op
        if not isinstance(op, QLinearSoftmax) or softmax.inputs[1] not in graph.constants:
            return None
        scores, readers = graph.producers.get(softmax.inputs[0]), graph.consumers.get(softmax.key, [])
        if scores is None or len(readers) != 1 or not is_only_reader(graph, readers[0], softmax.key):
            return None
        (mixed,) = readers
        is_whole = mixed.inputs[0] == softmax.key and is_only_reader(graph, softmax, scores.key)
        if not is_whole or op.axis != len(graph.types[softmax.key].shape) - 1:
            return None
        return _between(graph, scores, softmax, mixed)

    def _replaced(self, node: Node, builder: Builder) -> Mapping[str, str] | None:
        if node.key in self.softmaxes:
            steps = "ln 2" if self.softmax.bits == 0 else f"ln 2 / {1 << self.softmax.bits}"
            builder.notes.append(NOTE.format(node.name, steps))
            (shares,) = builder.add(ItaSoftmax(self.softmax), node.inputs[:1], node.outputs, node.name)
            return {node.key: shares}
        if node.key in self.gelus:
            builder.notes.append(GELU_NOTE.format(node.name))
            (made,) = builder.add(ItaGelu(self.gelus[node.key].curve), node.inputs[:1], node.outputs, node.name)
            return {node.key: made}
        if isinstance(node.op, QLinearAdd) and self.products is None:
            return _with_short_factors(self.graph, node, self.found, builder)
        scale = _scale(self.graph, node)
        if scale is None:
            return None
        if node.key in self.scores:
            return self._scores(self.scores[node.key], scale, builder)
        if node.key in self.mixed:
            return self._mixed(self.mixed[node.key], scale, builder)
        if not _is_ita_s(self.graph, node) or (self.products is not None and node.key not in self.products):
            return None
        wanted = scale / self.centred.get(node.key, 1.0)
        chosen = nearest(wanted)
        self.found.append(_record(node, wanted, chosen))
        one = _with_one_scale(self.graph, node, builder)
        op = instance(node.op, MatMul)
        if node.key in self.negated:
            weights = builder.constant(_negative(builder, self.graph, one.inputs[1]), f"{node.name}_negative")
            one = replace(one, inputs=(one.inputs[0], weights, *one.inputs[2:]))
            op = replace(op, a_zero=self.negated[node.key].curve.scale.add)
        zero = 0 if node.key in self.centred else instance(op.requant, Requant).zero_point
        return _with_scale(self.graph, one, replace(op, requant=_requant(op, chosen, zero)), chosen, builder)

    def _scores(self, one: Attention, scale: float, builder: Builder) -> Mapping[str, str]:
        """Whose zero point does not matter: they have all of a byte."""
        queries, keys, _ = one.steps
        step = STEP / (1 << self.softmax.bits)
        chosen = nearest(scale * queries * keys * _step(self.graph, one.softmax) / step)
        op = replace(instance(one.scores.op, MatMul), a_zero=0, b_zero=0, requant=full_range(chosen.shift, "int8"))
        return _with_scale(self.graph, one.scores, op, chosen, builder)

    def _mixed(self, one: Attention, scale: float, builder: Builder) -> Mapping[str, str]:
        largest = self.softmax.numerator / self.softmax.one
        chosen = nearest(scale * one.steps[2] / largest / _share(one.softmax))
        op = instance(one.mixed.op, MatMul)
        requant = _requant(op, chosen, instance(op.requant, Requant).zero_point)
        return _with_scale(self.graph, one.mixed, replace(op, a_zero=0, b_zero=0, requant=requant), chosen, builder)


def _between(graph: Graph, scores: Node, softmax: Node, mixed: Node) -> Attention | None:
    """Of two products of int8 without biases, with zero points that can be lost, and of keys that fill tiles."""
    if any(not isinstance(node.op, MatMul) or _scale(graph, node) is None for node in (scores, mixed)):
        return None
    if any(not operands.keys().isdisjoint(("C", "add")) for operands in (scores.operands(), mixed.operands())):
        return None
    first, second = instance(scores.op, MatMul), instance(mixed.op, MatMul)
    zeros = {scores.inputs[0]: first.a_zero, scores.inputs[1]: first.b_zero, mixed.inputs[1]: second.b_zero}
    if {graph.types[name].dtype for name in zeros} != {"int8"} or len(zeros) != 3:
        return None
    if graph.types[scores.key].shape[-1] % SIDE:
        return None
    makers = {name: _maker(graph, name) for name, zero in zeros.items() if zero}
    if None in makers.values():
        return None
    steps = tuple((128 + abs(zero)) / 128 for zero in zeros.values())
    centred = {node.key: (128 + abs(zeros[name])) / 128 for name, node in makers.items() if node is not None}
    return Attention(scores, softmax, mixed, (steps[0], steps[1], steps[2]), centred)


def _maker(graph: Graph, tensor: str) -> Node | None:
    """The product whose results a tensor shows in another order, and nobody else sees."""
    readers = graph.consumers.get(tensor, [])
    node = graph.producers.get(tensor)
    while len(readers) == 1 and node is not None and isinstance(node.op, Reshape | Transpose):
        readers, node = graph.consumers.get(node.inputs[0], []), graph.producers.get(node.inputs[0])
    if node is None or len(readers) != 1 or node.key in graph.sinks or _scale(graph, node) is None:
        return None
    if not _is_ita_s(graph, node):
        return None
    requant = instance(instance(node.op, MatMul).requant, Requant)
    return node if (requant.low, requant.high) == (-128, 127) else None


@dataclass(frozen=True)
class Gelu:
    """A table between two products that stands for GELU, and ITA's polynomial for it."""

    before: Node
    table: Node
    after: Node
    curve: Activation
    wider: float
    """Steps of its inputs, which are centred."""


def _gelu(graph: Graph, node: Node) -> Gelu | None:
    table = graph.constants.get(node.inputs[1]) if isinstance(node.op, Lookup) else None
    if table is None or table.ndim != 1 or table.dtype != np.int8 or graph.types[node.inputs[0]].dtype != "int8":
        return None
    before, readers = graph.producers.get(node.inputs[0]), graph.consumers.get(node.key, [])
    if before is None or before is not _maker(graph, node.inputs[0]) or len(readers) != 1 or node.key in graph.sinks:
        return None
    (after,) = readers
    if after.inputs[0] != node.key or _scale(graph, after) is None or not _is_ita_s(graph, after):
        return None
    if graph.constants[after.inputs[1]].dtype != np.int8 or instance(after.op, MatMul).b_zero:
        return None
    zero = instance(instance(before.op, MatMul).requant, Requant).zero_point
    fit, wider = gelu_fit(table, zero, instance(after.op, MatMul).a_zero), (128 + abs(zero)) / 128
    if fit is None:
        return None
    return Gelu(before, node, after, curve_of(fit, wider), wider)


def _negative(builder: Builder, graph: Graph, name: str) -> Array:
    """Weights of a graph, or those that were made of them, with the other sign."""
    weights = builder.constants[name] if name in builder.constants else graph.constants[name]
    return np.clip(-weights.astype(np.int16), -128, 127).astype(np.int8)


def _requant(op: MatMul, scale: Scale, zero: int) -> Requant:
    return replace(instance(op.requant, Requant), shift=scale.shift, rounding=Rounding.HALF_UP, zero_point=zero)


def _scale(graph: Graph, node: Node) -> float | None:
    """Of a requantisation that another one may stand for: the largest, where weights have one for each column."""
    op = node.op
    if not isinstance(op, MatMul) or op.requant is None or op.requant.dtype not in NARROW:
        return None
    mul = graph.constants.get(node.operands().get("mul", ""))
    if op.requant.rounding != Rounding.HALF_EVEN or mul is None or graph.types[node.inputs[0]].dtype not in NARROW:
        return None
    if mul.min() <= 0 or (mul.size > 1 and not _has_columns(graph, node)):
        return None
    return float(mul.max()) * 2.0**-op.requant.shift


def _is_ita_s(graph: Graph, node: Node) -> bool:
    """Whether ITA has a product but for its requantisation."""
    try:
        return isinstance(node.op, MatMul) and weights_of(graph, node, node.op).size > 0
    except Refusal:
        return False


def _has_columns(graph: Graph, node: Node) -> bool:
    """Whether weights and what is added are constants, a column for each factor if there are several."""
    op, operands = instance(node.op, MatMul), node.operands()
    known = [graph.constants.get(operands[name]) for name in ("B", "C", "add") if name in operands]
    weights = known[0]
    if weights is None or weights.ndim != 2 or weights.dtype != np.int8 or op.b_zero or op.perm_b:
        return False
    columns = weights.shape[0 if op.trans_b else 1]
    factors = graph.constants[operands["mul"]].size
    return all(one is not None and one.size in (1, columns) for one in known[1:]) and factors in (1, columns)


def _with_one_scale(graph: Graph, node: Node, builder: Builder) -> Node:
    """A product with its weights, and its bias, in the largest scale that a column has."""
    op, operands = instance(node.op, MatMul), node.operands()
    mul = graph.constants[operands["mul"]].astype(np.float64).reshape(-1)
    if mul.size == 1:
        return node
    shares = mul / mul.max()
    weights = graph.constants[operands["B"]]
    made = np.rint(weights * (shares[:, None] if op.trans_b else shares)).astype(np.int8)
    bias = np.rint(_whole_bias(graph, operands) * shares).astype(np.int32)
    builder.notes.append(f"weights of {node.name} have one scale for all columns, as ITA has it")
    names = builder.constant(made, operands["B"]), builder.constant(bias, f"{node.name}_bias")
    return replace(node, inputs=(node.inputs[0], *names, operands["mul"]))


def _step(graph: Graph, softmax: Node) -> float:
    """Between two scores, by which the table of exponentials was made: of its entries, the last ones that are exact."""
    table = graph.constants[softmax.inputs[1]].astype(np.float64)
    last = max(1, int(np.count_nonzero(table > 2.0 ** (EXP_BITS // 2))) - 1)
    return float(EXP_BITS * STEP - math.log(max(table[last], 0.5))) / last


def _share(softmax: Node) -> float:
    op = instance(softmax.op, QLinearSoftmax)
    return 2.0**op.requant.shift / op.numerator


def _with_scale(graph: Graph, node: Node, op: MatMul, scale: Scale, builder: Builder) -> Mapping[str, str]:
    """The product with ITA's requantisation."""
    operands = node.operands()
    bias = operands.get("C", "")
    if "add" in operands:
        bias = builder.constant(_whole_bias(graph, operands), f"{node.name}_bias")
    mul = builder.constant(np.array([scale.multiplier], np.int32), f"{node.name}_mul")
    (result,) = builder.add(op, [*node.inputs[:2], bias, mul], node.outputs, node.name)
    return {node.key: result}


def _whole_bias(graph: Graph, operands: Mapping[str, str]) -> Array:
    """With what is added to scaled totals as the nearest integer of the totals."""
    mul, add, bias = (
        graph.constants[operands[name]].astype(np.int64).reshape(-1) if name in operands else np.zeros(1, np.int64)
        for name in ("mul", "add", "C")
    )
    return np.asarray(bias + np.rint(add / mul), np.int32)


def _record(node: Node, exact: float, chosen: Scale) -> NumericsRecord:
    """How many totals have another result."""
    requant = instance(instance(node.op, MatMul).requant, Requant)
    low, high = (end - requant.zero_point for end in (requant.low, requant.high))
    totals = np.rint(np.linspace(low / exact, high / exact, SAMPLES))
    ours = np.floor(totals * (chosen.multiplier / 2.0**chosen.shift) + 0.5)
    apart = np.abs(np.clip(ours, low, high) - np.clip(np.rint(totals * exact), low, high)) > 0
    weights = np.exp(-np.abs(totals * exact) * NEAR / 256)
    return NumericsRecord(
        node.key, node.name, True, float(apart.mean()), float((apart * weights).sum() / weights.sum())
    )


# ---- sums ----


def _with_short_factors(
    graph: Graph, node: Node, found: list[NumericsRecord], builder: Builder
) -> Mapping[str, str] | None:
    """A sum of two tensors, one of which ITA makes, as ITA has it."""
    makers = [graph.producers.get(name) for name in node.inputs]
    if not any(maker is not None and _scale(graph, maker) is not None and _is_ita_s(graph, maker) for maker in makers):
        return None
    op, dtypes = instance(node.op, QLinearAdd), {graph.types[name].dtype for name in node.inputs}
    if op.requant.rounding != Rounding.HALF_EVEN or min(op.mul_a, op.mul_b) <= 0 or dtypes != {"int8"}:
        return None
    new = short_sum(op)
    found.append(compared(op, new, node.key, node.name))
    if not found[-1].native:
        return None
    (result,) = builder.add(new, node.inputs, node.outputs, node.name)
    return {node.key: result}
