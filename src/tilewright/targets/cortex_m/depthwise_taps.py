"""Depthwise convolutions of bytes with any window: weights as 16-bit numbers, two columns of a window in a word, behind
them all else that is constant of a filter: what totals begin with, factor, shift, addend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Params
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shape, Shapes, TensorType, limits
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import reach
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.requant.one_product import OneProduct
from tilewright.target.params import params_of
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.depthwise_halves import side_by_side
from tilewright.targets.cortex_m.depthwise_windows import LARGEST_WEIGHT, own_scaling
from tilewright.targets.cortex_m.depthwise_words import DepthwiseWords
from tilewright.targets.cortex_m.paired import filters_of
from tilewright.targets.cortex_m.ways import Filters

WAYS = ("totals", "high", "twice")
"""As TW_TAPS_... in C."""
BEHIND = 4
"""TW_TAPS_SCALES in C: words of a filter behind its weights."""
LONG_ROW = 5
"""TW_LONG_ROW in C: rows of so many words or more have an even number."""
WORDS_OF_A_COLUMN = 6
"""Those that take less time than the kernel for microcontrollers does for a column: as far apart columns may lie."""
UPPER, LARGEST_LEFT = 33, 8
"""What products are shifted by at least, and what weights of 8 bits may be shifted left by for it."""


def row_words(wide: int) -> int:
    """Of a row of a window: windows at odd columns need room for one weight more."""
    words = wide // 2 + 1
    return words + words % 2 if words >= LONG_ROW else words


@dataclass(frozen=True)
class TapsConv(DepthwiseWords):
    kernel: Shape = (1, 1)
    way: str = WAYS[0]
    conv: Conv = field(default_factory=Conv)
    apart: int = 1
    """From a column of the graph's windows to the next; those between them have weights of zero."""

    def macs(self, shapes: Shapes) -> int:
        wide = self.kernel[-1]
        return super().macs(shapes) // wide * (1 + (wide - 1) // self.apart)

    def numpy(self, X: Array, W: Array) -> Array:
        weights, start, scaling = _unpacked(W, self.kernel)
        if self.way == "totals":
            scaled = () if self.conv.requant is None else (scaling.factor, scaling.addend)
            return self.conv.numpy(X, weights, *(np.asarray(each, np.int32) for each in (start, *scaled)))
        total = replace(self.conv, requant=None).numpy(X, weights, start.astype(np.int32))
        dtype = instance(self.conv.requant, Requant).dtype
        found = scaling.rounded_twice if self.way == "twice" else scaling.of_larger
        return np.clip(np.moveaxis(found(np.moveaxis(total, 1, 0)), 0, 1), *limits(dtype)).astype(dtype)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {"conv": params_of(self.conv, self.plain_types(types)), "way": WAYS.index(self.way), "image_last": 0}


def _packed(windows: Array, start: Array, scaling: OneProduct) -> Array:
    """Bytes of filters [filters, height, width]."""
    filters, _, wide = windows.shape
    twos = np.pad(windows, [(0, 0), (0, 0), (0, 2 * row_words(wide) - wide)]).astype(np.int16)
    rest = np.stack([start, scaling.factor, scaling.shift, scaling.addend], 1).astype(np.int32)
    return np.concatenate([twos.reshape(filters, -1).view(np.int8), rest.view(np.int8)], 1)


def _unpacked(packed: Array, kernel: Shape) -> tuple[Array, Array, OneProduct]:
    """Weights and starts, which may be larger by a power of two, and what is done with such totals."""
    words = np.ascontiguousarray(packed).view(np.int32)
    twos = np.ascontiguousarray(words[:, :-BEHIND]).view(np.int16).reshape(len(words), math.prod(kernel[:-1]), -1)
    weights = twos[..., : kernel[-1]].reshape(len(words), 1, *kernel).astype(np.int32)
    start, factor, shift, addend = words[:, -BEHIND:].astype(np.int64).T
    none = np.zeros(len(words), np.int64)
    return weights, start, OneProduct(none, none, factor, addend, shift)


def taps_conv(graph: Graph, node: Node) -> Offer | None:
    """A depthwise convolution of bytes with constants, whose windows have columns not far apart."""
    op, operands = node.op, node.operands()
    weights = graph.constants.get(operands.get("W", ""))
    if not isinstance(op, Conv) or weights is None or op.channels_last or min(op.padding) < 0 or not weights.size:
        return None
    x = graph.types[operands["X"]]
    if x.dtype not in NARROW or op.groups == 1 or weights.shape[1] != 1:
        return None
    if row_words(reach(weights.shape[-1], op.dilations[-1])) > WORDS_OF_A_COLUMN * weights.shape[-1]:
        return None
    windows = side_by_side(weights.astype(np.int64) - op.w_zero, op.dilations[-1])
    rows, kernel = windows.reshape(len(windows), -1), windows.shape[2:]
    filters = filters_of(graph, operands, "B", rows, op.x_zero, x.dtype)
    if filters is None:
        return None
    # The zero point is subtracted from X: totals are the same, they begin with the bias.
    bias = filters.start + op.x_zero * rows.sum(1)
    way, scaling = _scaling(op.requant, filters, rows)
    larger = rows << scaling.left[:, None]
    packed = _packed(larger.reshape(len(rows), -1, kernel[-1]), (bias << scaling.left) + scaling.offset, scaling)
    made = {f"{node.key}_taps": packed}
    conv = replace(op, w_zero=0, dilations=(*op.dilations[:-1], 1))
    return Offer(TapsConv(kernel, way, conv, op.dilations[-1]), (operands["X"], *made), made)


def _scaling(requant: Requant | None, filters: Filters, rows: Array) -> tuple[str, OneProduct]:
    """The shortest way."""
    room = np.log2(LARGEST_WEIGHT / np.maximum(np.abs(rows).max(1), 1)).astype(np.int64)
    if requant is not None:
        way, found = own_scaling(requant, filters, room)
        if found is not None:
            return way if way in WAYS else "high", found
        found = _shifted_left(requant, filters, int(room.min()))
        if found is not None:
            return "high", found
    none = np.zeros_like(filters.mul)
    factor, shift, addend = filters.scaling(requant, "totals")
    return "totals", OneProduct(none, none, factor, addend, shift)


def _shifted_left(requant: Requant, filters: Filters, room: int) -> OneProduct | None:
    """By the upper word of products with totals that are larger by a power of two."""
    left = 0 if requant.has_exponents else min(max(UPPER - requant.shift, 0), LARGEST_LEFT)
    if left > room:
        return None
    larger = replace(filters, start=filters.start << left, least=filters.least << left, most=filters.most << left)
    shifted = replace(requant, shift=requant.shift + left)
    if larger.largest.max() >= 1 << 31 or larger.way(shifted) != "high":
        return None
    factor, shift, addend = larger.scaling(shifted, "high")
    return OneProduct(np.full_like(factor, left), np.zeros_like(factor), factor, addend, shift)
