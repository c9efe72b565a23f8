"""Which convolutions and products are offered in the forms of vector_forms.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops._rearranged import MADE, folded_zero, value_per_filter
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.vector_forms import (
    ELEMENTS,
    VectorConv,
    VectorDepthwise,
    VectorForm,
    VectorProduct,
    Way,
    blocked,
    elements,
    in_blocks,
    in_lanes,
    tapped,
)

INT8 = (-128, 127)
WIDE = "int16"
SHORT_RESULTS = frozenset({"int8", "uint8", "int16", "uint16"})
LEAST_SHIFT = 2
NORMALISED = 1 << 30
LARGEST_PAIR = 255
"""Of two weights: their products with a byte fit 16 bits together."""


def forms(graph: Graph, node: Node) -> list[Offer]:
    offer = _conv(graph, node) if isinstance(node.op, Conv) else _product(graph, node)
    return [] if offer is None else [offer]


def _conv(graph: Graph, node: Node) -> Offer | None:
    """A convolution with channels last and constant weights and bias."""
    op, operands = node.op, node.operands()
    if not isinstance(op, Conv) or not op.channels_last or min(op.padding) < 0:
        return None
    weights = graph.constants.get(operands["W"])
    if weights is None or not weights.size:
        return None
    rows = weights.reshape(len(weights), -1).astype(np.int64) - op.w_zero
    is_depthwise = op.groups == len(weights) == graph.types[operands["X"]].shape[-1] and op.groups > 1
    is_wide = graph.types[operands["X"]].dtype == WIDE
    kind: type[VectorForm] = VectorDepthwise if is_depthwise and (is_wide or _pairs_fit(rows)) else VectorConv
    form = kind(len(weights), weights.shape[1:-1], replace(op, w_zero=0))
    values = {name: value_per_filter(graph, operands[name], len(rows)) for name in MADE if name in operands}
    return _offer(graph, node, form, rows, values, op.x_zero)


def _product(graph: Graph, node: Node) -> Offer | None:
    """A product of rows and a constant matrix."""
    op, operands = node.op, node.operands()
    if not isinstance(op, MatMul) or op.trans_a or op.perm_a or op.perm_b or op.perm_y:
        return None
    matrix, a = graph.constants.get(operands.get("B", "")), graph.types[operands["A"]]
    if matrix is None or matrix.ndim != 2 or not matrix.size or (op.alpha, op.beta) != (1.0, 1.0) or len(a.shape) < 2:
        return None
    rows = (matrix if op.trans_b else matrix.T).astype(np.int64) - op.b_zero
    conv = Conv((1, 1), (1, 1), (0,) * 4, x_zero=op.a_zero, requant=op.requant, channels_last=True)
    names = {"B": "C", "mul": "mul", "add": "add"}
    values = {name: value_per_filter(graph, operands[own], len(rows)) for name, own in names.items() if own in operands}
    return _offer(graph, node, VectorConv(len(rows), (1, 1), conv), rows, values, op.a_zero)


def _offer(
    graph: Graph, node: Node, form: VectorForm, rows: Array, values: Mapping[str, Array | None], zero: int
) -> Offer | None:
    """The form with what its constants decide; None where a constant is computed, or too large for it."""
    dtype, requant = graph.types[node.inputs[0]].dtype, form.conv.requant
    if dtype not in ELEMENTS or rows.min() < INT8[0] or rows.max() > INT8[1]:
        return None
    if any(array is None for array in values.values()) or not _is_taken(requant, values):
        return None
    given = {name: array for name, array in values.items() if array is not None}
    start = given.get("B", np.zeros(len(rows), np.int64)) - folded_zero(zero, dtype) * rows.sum(1)
    largest = np.abs(start) + np.abs(rows).sum(1) * -limits(WIDE if dtype == WIDE else "int8")[0]
    # Totals of 16-bit elements may leave 32 bits, as those of the graph do.
    if dtype != WIDE and largest.max() >= 1 << 31:
        return None
    form = replace(form, vector=elements(dtype))
    way = Way.ANY if requant is None else _way(requant, given, largest, dtype)
    if way != Way.ANY and requant is not None and not requant.has_exponents:
        given.pop("add", None)
    made = {"W": _weights(form, rows), "B": _values(form, start)}
    made |= {name: _values(form, given[name]) for name in ("mul", "add") if name in given}
    constants = {f"{node.key}_{name}_vectors": array for name, array in made.items()}
    op = replace(form, way=way)
    inputs = (node.inputs[0], *constants)
    return Offer(
        VectorProduct(op) if isinstance(node.op, MatMul) and isinstance(op, VectorConv) else op, inputs, constants
    )


def _weights(form: VectorForm, rows: Array) -> Array:
    if isinstance(form, VectorDepthwise):
        return tapped(rows, form.vector)
    return blocked(rows, form.conv.groups, form.vector)


def _values(form: VectorForm, values: Array) -> Array:
    if isinstance(form, VectorDepthwise):
        return in_lanes(values, form.vector)
    return in_blocks(values, form.conv.groups)


def _pairs_fit(rows: Array) -> bool:
    """Whether the products of two neighbouring taps fit 16 bits together."""
    even = rows[:, : rows.shape[1] // 2 * 2]
    return not even.size or int((np.abs(even[:, ::2]) + np.abs(even[:, 1::2])).max()) <= LARGEST_PAIR


def _is_taken(requant: Requant | None, values: Mapping[str, Array | None]) -> bool:
    """Whether vectors of 32 bits give the same to the bit."""
    if requant is None:
        return True
    mul, add = values.get("mul"), values.get("add")
    if mul is None or requant.dtype not in SHORT_RESULTS:
        return False
    if requant.rounding == Rounding.SINGLE:
        return add is not None and bool(((add < 0) | (mul == 0) | (np.abs(mul) >= NORMALISED)).all())
    return requant.has_exponents or requant.rounding == Rounding.NATIVE or requant.shift >= LEAST_SHIFT


def _way(requant: Requant, values: Mapping[str, Array], largest: Array, dtype: str) -> Way:
    """The shortest that gives the same: without exponents above 0 two roundings; without ties that do not round up and
    without summands one."""
    add, mul = values.get("add"), values["mul"]
    if dtype == WIDE and requant.rounding == Rounding.SINGLE and add is not None and bool((add < -1).all()):
        return Way.ONCE
    if requant.has_exponents:
        if add is None or (add > 0).any() or requant.rounding not in (Rounding.DOUBLE, Rounding.DOUBLE_UP):
            return Way.ANY
        # Where negative values are cut off, it does not matter how their ties are rounded.
        return Way.UP if requant.rounding == Rounding.DOUBLE_UP or requant.low >= requant.zero_point else Way.SHORT
    if requant.shift <= 32 or requant.rounding == Rounding.NATIVE or (add is not None and add.any()):
        return Way.ANY
    return Way.SHORT if requant.rounding == Rounding.HALF_UP or _never_ties(mul, largest, requant.shift) else Way.ANY


def _never_ties(mul: Array, largest: Array, shift: int) -> bool:
    """A tie needs a total with as many zeros at its end as those of the factor leave, but for one."""
    zeros = np.array([(int(value) & -int(value)).bit_length() - 1 for value in mul if value], np.int64)
    return bool((np.ldexp(1.0, shift - 1 - zeros) > largest[mul != 0]).all())
