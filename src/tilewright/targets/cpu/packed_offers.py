"""Which convolutions and products are offered in the forms of packed_forms.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import replace

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, Shape
from tilewright.ops._linear import NARROW
from tilewright.ops._rearranged import MADE, folded_zero, value_per_filter
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.target import Offer
from tilewright.targets.cpu.packed_forms import (
    WHOLE_WINDOW,
    ComputedProduct,
    PackedConvolution,
    PackedDepthwise,
    PackedForm,
    PackedProduct,
    Way,
    in_blocks,
    packed,
    tapped,
)

INT8 = (-128, 127)
HIGH_BITS = 31
"""That the instruction for the upper half of a product leaves out."""
LARGEST_PRODUCT = 256 * 256
"""Of two bytes without their zero points."""
LARGEST_NEAR = 32000
"""That 16 bits hold with any zero point of a byte, and rounded up."""
LARGEST_SHIFTED = (1 << 31) - 2
BYTE_RESULTS = frozenset({"int8", "uint8"})


def offers(columns: int, graph: Graph, node: Node) -> list[Offer]:
    """With blocks of so many filters."""
    offer = _conv(columns, graph, node) if isinstance(node.op, Conv) else _product(columns, graph, node)
    offer = _computed(graph, node) if offer is None else offer
    return [] if offer is None else [offer]


def _conv(columns: int, graph: Graph, node: Node) -> Offer | None:
    """A convolution of bytes with channels last and constant weights and bias."""
    op, operands = node.op, node.operands()
    if not isinstance(op, Conv) or not op.channels_last or min(op.padding) < 0:
        return None
    weights = graph.constants.get(operands["W"])
    if weights is None or not weights.size or weights.dtype.name not in NARROW:
        return None
    rows = weights.reshape(len(weights), -1).astype(np.int64) - op.w_zero
    is_depthwise = op.groups == len(weights) == graph.types[operands["X"]].shape[-1] and op.groups > 1
    kind: type[PackedForm] = PackedDepthwise if is_depthwise else PackedConvolution
    form = kind(len(weights), weights.shape[1:-1], replace(op, w_zero=0), columns=columns)
    values = {name: value_per_filter(graph, operands[name], len(rows)) for name in MADE if name in operands}
    return _offer(graph, node, form, rows, values, op.x_zero)


def _product(columns: int, graph: Graph, node: Node) -> Offer | None:
    """A product of rows of bytes and a constant matrix."""
    op, operands = node.op, node.operands()
    if not isinstance(op, MatMul) or op.trans_a or op.perm_a or op.perm_b or op.perm_y:
        return None
    matrix, a = graph.constants.get(operands.get("B", "")), graph.types[operands["A"]]
    if matrix is None or matrix.ndim != 2 or not matrix.size or (op.alpha, op.beta) != (1.0, 1.0) or len(a.shape) < 2:
        return None
    if matrix.dtype.name not in NARROW:
        return None
    rows = (matrix if op.trans_b else matrix.T).astype(np.int64) - op.b_zero
    conv = Conv((1, 1), (1, 1), (0,) * 4, x_zero=op.a_zero, requant=op.requant, channels_last=True)
    names = {"B": "C", "mul": "mul", "add": "add"}
    values = {name: value_per_filter(graph, operands[own], len(rows)) for name, own in names.items() if own in operands}
    return _offer(graph, node, PackedConvolution(len(rows), (1, 1), conv, columns=columns), rows, values, op.a_zero)


def _computed(graph: Graph, node: Node) -> Offer | None:
    """A product of bytes of which none is constant."""
    op, operands = node.op, node.operands()
    if not isinstance(op, MatMul) or isinstance(op, ComputedProduct) or (op.alpha, op.beta) != (1.0, 1.0):
        return None
    if not NARROW.issuperset(graph.types[operands[name]].dtype for name in "AB") or op.activation is not None:
        return None
    way, mul = Way.ANY, graph.constants.get(operands.get("mul", ""))
    add = graph.constants.get(operands["add"]) if "add" in operands else None
    if op.requant is not None and mul is not None and mul.size and "C" not in operands:
        inner, columns = _inner(op, graph.types[operands["A"]].shape), mul.reshape(-1).astype(np.int64)
        if "add" in operands and (add is None or add.size not in (1, mul.size)):
            return None
        summands = None if add is None else np.broadcast_to(add.reshape(-1), columns.shape).astype(np.int64)
        way = way_of(op.requant, columns, summands, np.full(columns.shape, inner * LARGEST_PRODUCT))
        if add is not None and not op.requant.has_exponents:
            way = Way.ANY  # its summands would be taken for exponents
    fields = {field.name: getattr(op, field.name) for field in dataclass_fields(op)}
    return Offer(ComputedProduct(**fields, way=way), node.inputs)


def _inner(op: MatMul, shape: Shape) -> int:
    """How many products make a total."""
    ordered = [shape[axis] for axis in op.perm_a] if op.perm_a else shape
    return ordered[-2] if op.trans_a and len(ordered) > 1 else ordered[-1]


def _offer(
    graph: Graph, node: Node, form: PackedForm, rows: Array, values: Mapping[str, Array | None], zero: int
) -> Offer | None:
    """The form with what its constants decide; None where a constant is computed, or too large for it."""
    dtype, requant = graph.types[node.inputs[0]].dtype, form.conv.requant
    if dtype not in NARROW or rows.min() < INT8[0] or rows.max() > INT8[1]:
        return None
    if any(array is None for array in values.values()):
        return None
    given = {name: array for name, array in values.items() if array is not None}
    start = given.get("B", np.zeros(len(rows), np.int64)) - folded_zero(zero, dtype) * rows.sum(1)
    largest = np.abs(start) + np.abs(rows).sum(1) * -INT8[0]
    if largest.max() >= 1 << 31:
        return None
    way = Way.ANY if requant is None else way_of(requant, given["mul"], given.get("add"), largest)
    if way in (Way.NEAR, Way.HIGH) and requant is not None and not requant.has_exponents:
        given.pop("add", None)
    made = {"W": _weights(form, rows), "B": _values(form, start)}
    made |= {name: _values(form, given[name]) for name in ("mul", "add") if name in given}
    constants = {f"{node.key}_{name}_packed": array for name, array in made.items()}
    op = replace(form, way=way)
    inputs = (node.inputs[0], *constants)
    return Offer(
        PackedProduct(op) if isinstance(node.op, MatMul) and isinstance(op, PackedConvolution) else op,
        inputs, constants,
    )  # fmt: skip


def _weights(form: PackedForm, rows: Array) -> Array:
    if not isinstance(form, PackedConvolution):
        return tapped(rows, form.kernel, form.columns)
    is_gathered = form.gathers(rows.shape[1] // math.prod(form.kernel))
    whole = np.pad(rows, [(0, 0), (0, -rows.shape[1] % WHOLE_WINDOW if is_gathered else 0)])
    return packed(whole, form.conv.groups, form.columns)


def _values(form: PackedForm, values: Array) -> Array:
    if isinstance(form, PackedConvolution):
        return in_blocks(values, form.conv.groups, form.columns)
    return values.astype(np.int32)


def way_of(requant: Requant, mul: Array, add: Array | None, largest: Array) -> Way:
    """The shortest that gives the same to the bit, of totals up to `largest`."""
    if requant.dtype not in BYTE_RESULTS:
        return Way.ANY
    if requant.has_exponents:
        return _scaled_way(requant, mul, add, largest)
    if requant.shift <= HIGH_BITS or requant.rounding == Rounding.NATIVE or (add is not None and add.any()):
        return Way.ANY
    if requant.rounding != Rounding.HALF_UP and not never_ties(mul, largest, requant.shift):
        return Way.ANY
    return _high_way(largest * np.ldexp(np.abs(mul), -requant.shift))


def _high_way(results: Array) -> Way:
    """Of results up to these, without their zero point."""
    return Way.NEAR if results.max() <= LARGEST_NEAR else Way.HIGH


def _scaled_way(requant: Requant, mul: Array, exponents: Array | None, largest: Array) -> Way:
    """Where negative values are cut off, it does not matter how their ties are rounded."""
    if requant.rounding == Rounding.FLOAT:
        return Way.FLOAT
    if exponents is None:
        return Way.ANY
    if requant.rounding == Rounding.SINGLE:
        results = largest * np.ldexp(np.abs(mul), exponents - HIGH_BITS)
        return _high_way(results) if (exponents < 0).all() else Way.ANY
    is_up = requant.rounding == Rounding.DOUBLE_UP or requant.low >= requant.zero_point
    return _double_way(is_up, mul, exponents, largest)


def _double_way(ties_up: bool, mul: Array, exponents: Array, largest: Array) -> Way:
    """Near where nothing is shifted to the left, and 31 bits hold what is shifted to the right with half a unit."""
    high, half = largest * np.ldexp(np.abs(mul), -HIGH_BITS), np.ldexp(0.5, -exponents)
    fits = np.ldexp(high, exponents).max() <= LARGEST_NEAR and (high + half).max() < LARGEST_SHIFTED
    if fits and exponents.max() <= (0 if ties_up else -1):
        return Way.NEAR_DOUBLE_UP if ties_up else Way.NEAR_DOUBLE
    return Way.DOUBLE_UP if ties_up else Way.DOUBLE


def never_ties(mul: Array, largest: Array, shift: int) -> bool:
    """A tie needs a total with as many zeros at its end as those of the factor leave, but for one."""
    zeros = np.array([(int(value) & -int(value)).bit_length() - 1 for value in mul if value], np.int64)
    return bool((np.ldexp(1.0, shift - 1 - zeros) > largest[mul != 0]).all())
