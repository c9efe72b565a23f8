"""Depthwise convolutions with windows of 3 x 3: all that is constant of a filter in the order in which it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Params
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shape, TensorType, limits
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.requant.one_product import OneProduct, one_product
from tilewright.target.params import params_of
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.depthwise_words import DepthwiseWords
from tilewright.targets.cortex_m.paired import filters_of
from tilewright.targets.cortex_m.ways import Filters

ORDER = (0, 2, 3, 5, 6, 8, 1, 4)
"""Outer weights of rows 0, 1 and 2; the middle ones of rows 0 and 1. Behind them the shift and the last weight."""
LAST = 7
SHIFT_AT, LAST_AT = 8, 9
"""Halves of words: nine weights in sixteen bits, and the shift."""
START_AT, FACTOR_AT, ADDEND_AT, WORDS = 5, 6, 7, 8
LARGEST_WEIGHT = (1 << 15) - 1
SAME_SHIFT = 10
"""As TW_SAME_SHIFT in C: the shift of all filters of a layer, where they can have one."""
WAYS = ("own", "same", "twice")
"""As TW_WINDOWS_... in C: filters have shifts of their own, or the same; or are rounded twice, as `ways` has it."""
SIDE = 3
TWO_ROWS = 2
"""Results of so many rows are computed together."""


@dataclass(frozen=True)
class WindowConv(DepthwiseWords):
    """Of bytes, with a requantisation."""

    way: str = "own"
    conv: Conv = field(default_factory=Conv)
    kernel: Shape = (SIDE, SIDE)

    def numpy(self, X: Array, W: Array) -> Array:
        weights, start, scaling = _unpacked(W)
        bias = start + self.conv.x_zero * weights.sum((1, 2, 3))
        total = replace(self.conv, requant=None).numpy(X, weights, bias.astype(np.int32))
        dtype = instance(self.conv.requant, Requant).dtype
        scaled = scaling.rounded_twice if self.way == "twice" else scaling.of_larger
        return np.clip(np.moveaxis(scaled(np.moveaxis(total, 1, 0)), 0, 1), *limits(dtype)).astype(dtype)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {"conv": params_of(self.conv, self.plain_types(types)), "way": WAYS.index(self.way), "image_last": 0}


def _packed(rows: Array, start: Array, scaling: OneProduct) -> Array:
    """Bytes of filters whose rows of weights are these."""
    made = np.zeros((len(rows), WORDS), np.int32)
    halves, left = made.view(np.int16), scaling.left
    larger = rows << left[:, None]
    halves[:, : len(ORDER)], halves[:, LAST_AT], halves[:, SHIFT_AT] = larger[:, ORDER], larger[:, LAST], scaling.shift
    made[:, START_AT] = (start << left) + scaling.offset
    made[:, FACTOR_AT], made[:, ADDEND_AT] = scaling.factor, scaling.addend
    return made.view(np.int8)


def _unpacked(packed: Array) -> tuple[Array, Array, OneProduct]:
    """Weights and starts, which are larger by a power of two, and what is done with such totals."""
    words = np.ascontiguousarray(packed).view(np.int32)
    halves, rows = words.view(np.int16), np.zeros((len(packed), SIDE * SIDE), np.int32)
    rows[:, ORDER], rows[:, LAST] = halves[:, : len(ORDER)], halves[:, LAST_AT]
    wide = words.astype(np.int64)
    none, shift = np.zeros(len(packed), np.int64), halves[:, SHIFT_AT].astype(np.int64)
    scaling = OneProduct(none, none, wide[:, FACTOR_AT], wide[:, ADDEND_AT], shift)
    return rows.reshape(-1, 1, SIDE, SIDE), wide[:, START_AT], scaling


def window_conv(graph: Graph, node: Node) -> Offer | None:
    """A depthwise convolution of bytes with constants and windows of 3 x 3, one or two apart."""
    op, operands = node.op, node.operands()
    weights = graph.constants.get(operands.get("W", ""))
    if not isinstance(op, Conv) or weights is None or op.channels_last or min(op.padding) < 0:
        return None
    x, y = graph.types[operands["X"]], graph.types[node.outputs[0]]
    if x.dtype not in NARROW or op.groups == 1 or weights.shape[1:] != (1, SIDE, SIDE) or set(op.dilations) != {1}:
        return None
    if op.strides not in ((1, 1), (2, 2)) or op.requant is None or min(y.shape[2:]) < TWO_ROWS:
        return None
    if y.dtype not in NARROW:
        return None
    rows = weights.reshape(len(weights), -1).astype(np.int64) - op.w_zero
    filters = filters_of(graph, operands, "B", rows, op.x_zero, x.dtype)
    if filters is None:
        return None
    room = np.log2(LARGEST_WEIGHT / np.maximum(np.abs(rows).max(1), 1)).astype(np.int64)
    way, scaling = _scaling(op.requant, filters, room)
    if scaling is None:
        return None
    made = {f"{node.key}_windows": _packed(rows, filters.start, scaling)}
    return Offer(WindowConv(way, replace(op, w_zero=0)), (operands["X"], *made), made)


def _scaling(requant: Requant, filters: Filters, room: Array) -> tuple[str, OneProduct | None]:
    """The shortest way, with weights that may be shifted left by so much."""
    found = one_product(filters.spec(requant), SAME_SHIFT, left_at_most=tuple(room.tolist()))
    return ("same", found) if found is not None else own_scaling(requant, filters, room)


def own_scaling(requant: Requant, filters: Filters, room: Array) -> tuple[str, OneProduct | None]:
    """The shortest way for filters that have shifts of their own."""
    found = one_product(filters.spec(requant), None, left_at_most=tuple(room.tolist()))
    if found is not None:
        return "own", found
    if filters.way(requant) != "twice":
        return "", None
    factor, shifts, addend = filters.scaling(requant, "twice")
    one = np.ones_like(factor)
    return "twice", OneProduct(one, 0 * one, factor, addend, shifts)
