"""From quantised ONNX to integer arithmetic.

A quantised model says DequantizeLinear, float operators, QuantizeLinear. Here every QuantizeLinear is traced back to
the integers that its operand is computed from, and computed from them directly; the floats in between then have no
reader and disappear. What has no integer form stays as it is, with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node, rebuild
from tilewright.ir.op import Op
from tilewright.ir.unused import drop_unused
from tilewright.ops._extreme import Extreme
from tilewright.ops._filters import Filters
from tilewright.ops.clip import Clip
from tilewright.ops.concat import Concat
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.identity import Identity
from tilewright.ops.matmul import MatMul
from tilewright.ops.max import Max
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.min import Min
from tilewright.ops.pad import Pad
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.relu import Relu
from tilewright.ops.where import Where
from tilewright.passes import Complaint, Numbers, Pass, fuse_patterns
from tilewright.passes.quantise.absorb import by_requantisation
from tilewright.passes.quantise.functions import EDGE_ERROR, STEP, by_function
from tilewright.passes.quantise.linear import UNHEARD, dequantised, pending_linear
from tilewright.passes.quantise.softmax import by_softmax
from tilewright.passes.quantise.tables import by_channel_tables, by_table
from tilewright.passes.quantise.values import MOVES, Context, Format, NoIntegerForm, Rule, format_of

MONOTONE = (MaxPool, GlobalMaxPool, ReduceMax, ReduceMin)
"""Operators that give one of the elements of their operand, by order alone: rounding can come before them."""

CHOOSING = {Concat: 0, Max: 0, Min: 0, Where: 1}
"""Operators that give elements of several operands, and the first of these operands."""


def run(graph: Graph) -> Graph:
    if any(isinstance(node.op, QuantizeLinear) for node in graph.nodes):
        # A normalisation that is written out has an integer form only as a whole.
        graph = fuse_patterns.run(graph)
    builder = rebuild(graph)
    context = Context(graph, builder)
    for node in graph.nodes:
        builder.node_name = _layer_name(graph, node)
        if not _replace(context, node):
            builder.add(node.op, node.inputs, node.outputs, node.name)
    builder.copy_outputs(graph)
    return drop_unused(builder.build())


def _layer_name(graph: Graph, node: Node) -> str:
    """A layer is called like what is quantised, not like its quantiser."""
    source = graph.producers.get(node.inputs[0]) if isinstance(node.op, QuantizeLinear) else None
    while source is not None and isinstance(source.op, Relu | Clip) and source.inputs[0] in graph.producers:
        source = graph.producers[source.inputs[0]]
    return node.name if source is None else source.name


def _replace(context: Context, node: Node) -> bool:
    """Emit the integer form of a node, if it has one."""
    if not all(context.graph.types[name].elements for name in (*node.inputs, *node.outputs) if name):
        return False
    try:
        if isinstance(node.op, QuantizeLinear):
            return _requantise(context, node)
        if isinstance(node.op, Filters | MatMul) and context.graph.types[node.key].dtype == "float32":
            return bool(dequantised(context, node, pending_linear(context, node), node.key))
        if isinstance(node.op, Extreme):
            return bool(context.emit(node.op, [_ordered(context, node.inputs[0])], node.key))
    except (NoIntegerForm, CompileError):
        pass
    return False


def _requantise(context: Context, node: Node) -> bool:
    context.reason = ""
    try:
        made = quantise(context, node.inputs[0], format_of(context, node), node.key)
    except NoIntegerForm:
        _note(context, node)
        raise
    except RecursionError:
        context.reason = "it is the last of very many operators without a quantiser in between"
        _note(context, node)
        raise NoIntegerForm(context.reason) from None
    if made != node.key:
        context.emit(Identity(), [made], node.key)
    return True


def quantise(context: Context, tensor: str, to: Format, output: str | None = None) -> str:
    """The integer tensor for a float tensor in a format."""
    if (tensor, to) not in context.made:
        for rule in RULES:
            found = rule(context, tensor, to, output)
            if found is not None:
                context.made[tensor, to] = found
                break
        else:
            raise NoIntegerForm(f"tensor '{tensor}' cannot be computed with integers")
    return context.made[tensor, to]


def _ordered(context: Context, tensor: str) -> str:
    """Integers in the same order as the floats that they stand for."""
    value = context.value(tensor)
    if not value.is_per_tensor:
        raise NoIntegerForm("scales differ")
    return value.tensor


# ---- rules --------------------------------------------------------------------------------------------------------


def _as_it_is(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    """Quantised in that format already."""
    node = context.producer(tensor)
    if node is None or not isinstance(node.op, DequantizeLinear):
        return None
    try:
        value = context.value(tensor)
    except NoIntegerForm:
        return None
    same = (value.kind.dtype, tuple(value.scales), tuple(value.zeros)) == (to.dtype, to.scales, to.zeros)
    return value.tensor if same and (to.is_per_tensor or value.axis == to.axis) else None


def _constant(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    value = context.known(tensor)
    return None if value is None else context.builder.constant(to.quantise(value), tensor)


def _moved(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    """Rounding before elements are moved or chosen gives the same as rounding afterwards."""
    node = context.producer(tensor)
    if node is None or not to.is_per_tensor:
        return None
    op: Op = node.op
    if isinstance(op, Pad):
        op = replace(op, value=to.level(op.value))
    if isinstance(op, MOVES + MONOTONE):
        inputs = [quantise(context, node.inputs[0], to), *node.inputs[1:]]
    elif type(op) in CHOOSING:
        first = CHOOSING[type(op)]
        inputs = [*node.inputs[:first], *(quantise(context, name, to) for name in node.inputs[first:])]
    else:
        return None
    return context.emit(op, inputs, output)


def _clamp(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    """A clamp of something that has its own rule."""
    node = context.producer(tensor)
    if node is None or not isinstance(node.op, Relu | Clip) or not to.is_per_tensor:
        return None
    low, high = (0.0, float("inf")) if isinstance(node.op, Relu) else node.op.bounds("float32")
    return context.emit(Clip(to.level(low), to.level(high)), [quantise(context, node.inputs[0], to)], output)


def _quietly(rule: Rule) -> Rule:
    """A rule that does not apply where it turns out on the way that it cannot."""

    def attempt(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
        try:
            return rule(context, tensor, to, output)
        except (NoIntegerForm, CompileError):
            return None

    return attempt


RULES: tuple[Rule, ...] = tuple(
    map(
        _quietly,
        (_as_it_is, _constant, by_table, _moved, by_requantisation, by_channel_tables, by_function, by_softmax, _clamp),
    )
)
"""In the order in which they are tried."""


# ---- what stays in floats -----------------------------------------------------------------------------------------


def _note(context: Context, node: Node) -> None:
    """Say what is computed in floats between quantised tensors, and why."""
    source = context.producer(node.inputs[0])
    if source is None or not _comes_from_integers(context.graph, node.inputs[0]):
        return
    reason = f": {context.reason}" if context.reason else ""
    context.builder.notes.append(f"{source.where} stays in floats between quantised tensors{reason}")
    context.builder.kept_floats.append(source.name)


def _comes_from_integers(graph: Graph, tensor: str) -> bool:
    waiting, seen = [tensor], set[str]()
    while waiting:
        name = waiting.pop()
        node = graph.producers.get(name)
        if node is None or name in seen:
            continue
        if isinstance(node.op, DequantizeLinear) and node.inputs[0] not in graph.constants:
            return True
        seen.add(name)
        waiting.extend(filter(None, node.inputs))
    return False


def integers_or_noted(graph: Graph) -> Iterator[Complaint]:
    """A quantiser that is left of floats which come from integers is one that the user is told of."""
    for node in graph.nodes:
        source = graph.producers.get(node.inputs[0]) if isinstance(node.op, QuantizeLinear) else None
        if source is None or source.name in graph.kept_floats or not graph.types[node.key].elements:
            continue
        if _comes_from_integers(graph, node.inputs[0]):
            yield node.where, f"quantises what {source.where} makes of integers, and no note says why"


NUMBERS = Numbers(
    steps=2 * UNHEARD,
    steps_by_operator={
        "QLinearFunction": EDGE_ERROR + STEP / 2 + 2 * UNHEARD,
        "QLinearMaskedSoftmax:int16": 1 / 2, "QLinearRotate:int16": 1 / 2,
    },
)  # fmt: skip
"""Requantisations leave out what a bias is more than its integer (less than UNHEARD of a step); multipliers of 28 bits
and more, and sums with 12 to 16 bits below a step, add less than as much again. Tables of functions are off by the
bounds that they are chosen with. Softmax and rotations of 16 bits have tables of 15 and 16 bits: half a step."""

QUANTISE = Pass("quantise", run, ensures=integers_or_noted, numbers=NUMBERS)
