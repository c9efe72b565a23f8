"""Scales and zero points of a network's bytes, as a TensorFlow Lite file would have them.

Integer operators know only ratios of scales. One of each group of tensors is free and is 1; sums and products fix those
of their operands, from the last of them to the first. All are float32, as in files, so that whoever asks again of a
graph with the same sums gets the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import SCALE_BITS
from tilewright.ops.concat import Concat
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.pad import Pad
from tilewright.ops.placerows import PlaceRows
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.slice import Slice
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass
from tilewright.targets.ethos_u.exponential import scale_of_words

MOVES = (Concat, GlobalMaxPool, MaxPool, Pad, PlaceRows, Slice, Transpose)
"""Operators whose results are elements of their operands; views are such, too."""
CLOSE = 2.0**-21
"""Of a ratio of scales: how far two float32 may be from it."""


@dataclass(frozen=True)
class Meaning:
    """What bytes stand for."""

    scales: dict[str, float]
    zeros: dict[str, int]
    groups: dict[str, str]
    """Tensors that have one scale, each by one of them."""

    def scale(self, tensor: str) -> float:
        return self.scales.get(self.groups.get(tensor, tensor), 1.0)

    def zero(self, tensor: str) -> int:
        return self.zeros.get(self.groups.get(tensor, tensor), 0)


def meaning_of(graph: Graph) -> Meaning:
    made = Meaning({}, {}, _groups(graph))
    for node in reversed(graph.nodes):
        _fix_scales(made, node)
        _fix_words(made, graph, node)
    for tensor, zero in _stated_zeros(graph):
        made.zeros.setdefault(made.groups.get(tensor, tensor), zero)
    return made


def moves(node: Node) -> bool:
    return node.op.view or isinstance(node.op, MOVES)


def ratios(op: QLinearAdd | TfliteAdd) -> tuple[float, float]:
    """The scales of two summands over that of the sum."""
    if isinstance(op, QLinearAdd):
        return op.mul_a * 2.0**-op.requant.shift, op.mul_b * 2.0**-op.requant.shift
    return _ratio(op, op.first), _ratio(op, op.second)


def product_ratio(op: QLinearMul) -> float:
    """The scales of two factors over that of the product."""
    if op.requant.has_exponents:
        return op.mul * 2.0 ** (op.add - SCALE_BITS)
    return op.mul * 2.0**-op.requant.shift


def is_close(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= CLOSE * wanted


def _ratio(op: TfliteAdd, summand: Summand) -> float:
    return summand.mul * op.mul * 2.0 ** (summand.exponent + op.exponent + op.left - 2 * SCALE_BITS)


def _groups(graph: Graph) -> dict[str, str]:
    """By the first tensor of each; constants are in none."""
    found: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    for node in graph.nodes:
        if not moves(node):
            continue
        names = [name for name in (*node.inputs, *node.outputs) if name and name not in graph.constants]
        merged = dict.fromkeys(one for name in names for one in members.pop(found.get(name, name), [name]))
        if merged:
            first = next(iter(merged))
            members[first] = list(merged)
            found.update(dict.fromkeys(merged, first))
    return found


def _fix_scales(made: Meaning, node: Node) -> None:
    op = node.op
    if not isinstance(op, QLinearAdd | TfliteAdd | QLinearMul):
        return
    out = made.scale(node.outputs[0])
    if min((product_ratio(op),) if isinstance(op, QLinearMul) else ratios(op)) <= 0:
        return
    if isinstance(op, QLinearMul):
        first = _fix(made, node.inputs[0], 1.0)
        _fix(made, node.inputs[1], product_ratio(op) * out / first)
        return
    for tensor, ratio in zip(node.inputs, ratios(op), strict=True):
        _fix(made, tensor, ratio * out)


def _fix_words(made: Meaning, graph: Graph, node: Node) -> None:
    """Of what is requantised to bytes; and of what a table of words is read by, as the function of `tables.py` wants
    it that stands for it in a file."""
    op = node.op
    if isinstance(op, RequantShift) and (ratio := words_ratio(graph, node)):
        _fix(made, node.inputs[0], ratio * made.scale(node.outputs[0]))
    elif isinstance(op, QLinearFunction) and op.requant.dtype == "int16" and node.inputs[1] in graph.constants:
        _fix(made, node.inputs[0], scale_of_words(graph.constants[node.inputs[1]], made.scale(node.outputs[0])))


def words_ratio(graph: Graph, node: Node) -> float:
    """The scale of words over that of the bytes that they are requantised to; 0 of other nodes."""
    op, constants = node.op, [graph.constants.get(name) for name in node.inputs[1:]]
    if not isinstance(op, RequantShift) or op.requant.rounding != Rounding.DOUBLE:
        return 0.0
    if graph.types[node.inputs[0]].dtype != "int16" or any(one is None or one.size != 1 for one in constants):
        return 0.0
    mul, exponent = (int(one.reshape(-1)[0]) for one in constants if one is not None)
    return mul * 2.0 ** (exponent - SCALE_BITS)


def _fix(made: Meaning, tensor: str, scale: float) -> float:
    """Whoever comes first decides."""
    return made.scales.setdefault(made.groups.get(tensor, tensor), float(np.float32(scale)))


def _stated_zeros(graph: Graph) -> Iterator[tuple[str, int]]:
    """By who makes a tensor, by what the network says of its inputs, and then by who reads it. A table has its zero
    point in itself."""
    yield from ((name, scale.zero_point) for name, scale in graph.scales.inputs.items())
    for node in graph.nodes:
        requant = getattr(node.op, "requant", None)
        if requant is not None and not isinstance(node.op, QLinearFunction):
            yield node.outputs[0], requant.zero_point
        elif isinstance(node.op, QuantizeLinear) and len(node.inputs) > 2 and node.inputs[2] in graph.constants:
            yield node.outputs[0], int(graph.constants[node.inputs[2]].reshape(-1)[0])
    for node in graph.nodes:
        for name, tensor in node.operands().items():
            zero = getattr(node.op, f"{name.lower()}_zero", 0)
            if zero and tensor not in graph.constants:
                yield tensor, zero
