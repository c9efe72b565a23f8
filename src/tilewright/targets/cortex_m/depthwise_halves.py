"""Depthwise convolutions of 16-bit elements: two columns of a window in a word, and with them all that is constant of a
filter: what totals begin with, factor, shift, addend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._windows import reach
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.target.params import params_of
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.depthwise_words import DepthwiseWords
from tilewright.targets.cortex_m.paired import WIDE, filters_of
from tilewright.targets.cortex_m.ways import FROM_TOTALS, Filters, RequantForm, added_from

WAYS = ("totals", "high", "positive")
"""Of `ways` that the kernel knows."""
BEFORE = 4
"""TW_FILTER_WORDS in C: words of a filter before its weights."""
WORDS_OF_A_COLUMN = 3
"""Those that take less time than the portable kernel does for a column: as far apart columns may lie."""


@dataclass(frozen=True)
class HalvesConv(DepthwiseWords):
    """Of 16-bit elements."""

    images: ClassVar[frozenset[str]] = frozenset({WIDE})
    kernel: Shape = (1, 1)
    way: RequantForm = FROM_TOTALS
    conv: Conv = field(default_factory=Conv)
    apart: int = 1
    """From a column of the graph's windows to the next; those between them have weights of zero."""

    def macs(self, shapes: Shapes) -> int:
        wide = self.kernel[-1]
        return super().macs(shapes) // wide * (1 + (wide - 1) // self.apart)

    def numpy(self, X: Array, W: Array) -> Array:
        rows, start, factor, shift, addend = _unpacked(W, self.kernel)
        bias = start + self.conv.x_zero * rows.sum((1, 2, 3))
        added = added_from(shift, addend, self.conv.requant, self.way.name)
        scaled = () if self.conv.requant is None else (factor, added)
        return self.conv.numpy(X, rows, bias.astype(np.int32), *scaled)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {"conv": params_of(self.conv, self.plain_types(types)), "way": self.way.number, "image_last": 0}


def _packed(rows: Array, filters: Filters, way: RequantForm, conv: Conv) -> Array:
    """Bytes of filters whose weights are rows [filters, height, width]."""
    scaling = np.stack([filters.start, *filters.scaling(conv.requant, way.name)], 1).astype(np.int32)
    twos = np.pad(rows, [(0, 0), (0, 0), (0, rows.shape[2] % 2)]).astype(np.int16)
    return np.concatenate([scaling.view(np.int8), twos.reshape(len(rows), -1).view(np.int8)], 1)


def _unpacked(packed: Array, kernel: Shape) -> tuple[Array, ...]:
    """Weights, starts, factors, shifts and addends."""
    *high, wide = kernel
    words = np.ascontiguousarray(packed).view(np.int32)
    twos = np.ascontiguousarray(words[:, BEFORE:]).view(np.int16).reshape(len(words), math.prod(high), -1)
    rows = twos[..., :wide].reshape(len(words), 1, *kernel).astype(np.int32)
    return (rows, *words[:, :BEFORE].T)


def side_by_side(weights: Array, apart: int) -> Array:
    """Columns so many elements apart, with zeros between them."""
    *high, wide = weights.shape
    found = np.zeros((*high, reach(wide, apart)), weights.dtype)
    found[..., ::apart] = weights
    return found


def halves_conv(graph: Graph, node: Node) -> Offer | None:
    """A depthwise convolution of 16-bit elements with constants, whose windows have columns not far apart."""
    op, operands = node.op, node.operands()
    weights = graph.constants.get(operands.get("W", ""))
    if not isinstance(op, Conv) or weights is None or op.channels_last or min(op.padding) < 0 or not weights.size:
        return None
    if graph.types[operands["X"]].dtype != WIDE or op.groups == 1 or weights.shape[1] != 1:
        return None
    if -(-reach(weights.shape[-1], op.dilations[-1]) // 2) > WORDS_OF_A_COLUMN * weights.shape[-1]:
        return None
    windows = side_by_side(weights.astype(np.int64) - op.w_zero, op.dilations[-1])
    rows, kernel = windows.reshape(len(windows), -1), windows.shape[2:]
    filters = filters_of(graph, operands, "B", rows, op.x_zero, WIDE)
    if filters is None:
        return None
    name = filters.way(op.requant)
    way = RequantForm(name if name in WAYS else WAYS[0], True)
    made = {f"{node.key}_halves": _packed(rows.reshape(len(rows), -1, kernel[-1]), filters, way, op)}
    conv = replace(op, w_zero=0, dilations=(*op.dilations[:-1], 1))
    return Offer(HalvesConv(kernel, way, conv, op.dilations[-1]), (operands["X"], *made), made)
