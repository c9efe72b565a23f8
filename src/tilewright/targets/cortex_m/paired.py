"""Filters in pairs, products in pairs: what one instruction multiplies lies in one word.

A word of weights has two filters at two taps: f0 k0, f1 k0, f0 k1, f1 k1. Its even bytes, extended, are a pair of the
first filter. Each half of the word as it is is the first filter plus 256 times the second: their total less that of the
first is 256 times the total of the second, so that no instruction is needed to extend the odd bytes. Where halves or
totals are too large for that, filters are kept `apart`. All that is constant of a pair lies in the order in which it is
read: what totals begin with, the weights, what totals are scaled by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from tilewright.errors import instance
from tilewright.ir.affine import Box, Span, whole
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, Shape, Shapes, TensorType, limits
from tilewright.ops._linear import NARROW
from tilewright.ops._packing import pack_rows, unpack_rows
from tilewright.ops._rearranged import RearrangedConv, value_per_filter
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.target.params import params_of
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.one_product_pairs import one_product_pairs, results
from tilewright.targets.cortex_m.ways import FROM_TOTALS, ONE, Filters, RequantForm, from_pairs
from tilewright.targets.microcontroller.blocked import INT8, LARGEST_TOTAL

LARGEST_JOINED = 1 << 23
"""Totals of a second filter are smaller, or apart."""
WIDE = "int16"
ELEMENTS = NARROW | {WIDE}
"""What panels are made of."""
STARTS, SCALES, WORD = 2, 6, 4
"""Words of a pair before and behind its weights, and bytes of one."""


ORDER = "(g f/2) k/2 k:2 f:2"


def carried(pairs: Array) -> Array:
    """What the second filter is less, so that both are one number of 16 bits."""
    return pairs[..., 0] < 0


def joined(pairs: Array, is_apart: bool) -> Array:
    """Bytes of words."""
    if is_apart:
        return pairs.astype(np.int8)
    return np.stack([pairs[..., 0], pairs[..., 1] - carried(pairs)], -1).astype(np.int8)


def in_order(words: Array, scaling: Array) -> Array:
    """Bytes of pairs, [pairs, bytes]: starts, words of weights, scales."""
    starts, scales = (np.ascontiguousarray(part).view(np.int8) for part in (scaling[:, :STARTS], scaling[:, STARTS:]))
    return np.concatenate([starts, words.reshape(len(words), -1), scales], 1)


def words_of(packed: Array) -> Array:
    return packed[:, WORD * STARTS : -WORD * SCALES].reshape(len(packed), -1, 2, 2)


def scaling_of(packed: Array) -> Array:
    """[pairs, 8], as `Filters.in_pairs` gives it."""
    ends = packed[:, : WORD * STARTS], packed[:, -WORD * SCALES :]
    return np.concatenate(ends, 1).view(np.int32)


def unpaired(words: Array, is_apart: bool, groups: int, filters: int, taps: int) -> Array:
    """The rows again: as many filters in each group."""
    pairs = words if is_apart else np.stack([words[..., 0], words[..., 1] + carried(words)], -1)
    return unpack_rows(ORDER, pairs, groups, filters, taps)


def tap_order(conv: Conv, kernel: Shape, channels: int, image_last: bool, dtype: str) -> Array:
    """As a panel has taps, which are rows, columns, channels otherwise: where those of a row lie side by side, fours of
    all rows, of bytes 0, 2, 1 and 3 of each, then what is left of the rows."""
    length, rows = kernel[-1] * channels, math.prod(kernel[:-1])
    taps = np.arange(rows * length)
    if conv.dilations[-1] != 1 or not (image_last or channels == 1):
        return taps
    fours, rest = np.split(taps.reshape(rows, length), [length // WORD * WORD], axis=1)
    order = [0, 1, 2, 3] if dtype == WIDE else [0, 2, 1, 3]
    return np.concatenate([fours.reshape(-1, WORD)[:, order].reshape(-1), rest.reshape(-1)])


@dataclass(frozen=True)
class PairedConv(RearrangedConv):
    """A convolution, channels second, whose filters are in pairs, with what they add and are scaled by (`ways`).
    Padding has the value `conv.x_zero`, which is not subtracted."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W")
    images: ClassVar[frozenset[str]] = ELEMENTS
    filters: int = 1
    """Of all groups."""
    kernel: Shape = (1, 1)
    way: RequantForm = FROM_TOTALS
    conv: Conv = field(default_factory=Conv)
    image_last: bool = False
    """Whether channels are the last axis of X."""
    is_row: bool = False
    """Whether X and Y have no more axes than channels: rows that are multiplied with a matrix."""

    # ---- geometry: that of the convolution, but for the constants ---------------------------------------------------

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        x = self._second(shapes["X"])
        result = {"Y": self._image(shapes["Y"])} if "Y" in shapes else {}
        return {"X": x, "W": (self.filters, x[1] // self.conv.groups, *self.kernel), **result}

    def _second(self, shape: Shape) -> Shape:
        """The image's shape, channels second."""
        return (shape[0], shape[-1], *shape[1:-1]) if self.image_last else self._image(shape)

    def _image(self, shape: Shape) -> Shape:
        return (*shape, 1, 1) if self.is_row else shape

    def index(self, shapes: Shapes) -> Index:
        found = self.conv.index(self.plain_shapes(shapes))
        batch, channels, *spatial = found["X"]
        x, axes = (batch, *spatial, channels) if self.image_last else found["X"], 2 if self.is_row else len(found["Y"])
        return {"X": x[:axes], "W": tuple(map(whole, shapes["W"])), "Y": found["Y"][:axes]}

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        found = self.conv.padding_of(self.plain_shapes(shapes))
        return {} if self.is_row else {(name, axis - self.image_last): span for (name, axis), span in found.items()}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        """All but rows."""
        return frozenset(self.extents(shapes)) - {"y"}

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(self, conv=instance(self.conv.at(self.plain_shapes(shapes), box), Conv))

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        (shape,) = self.conv.result_shapes(self.plain_shapes(shapes))
        return (shape[:2] if self.is_row else shape,)

    # ---- types and meaning ------------------------------------------------------------------------------------------

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        shapes = self.plain_shapes({name: kind.shape for name, kind in types.items()})
        each = TensorType("int32", (self.filters,))
        scaled = {} if self.conv.requant is None else {"mul": each, "add": each}
        kept = {name: TensorType(types[name].dtype, shapes[name]) for name in ("X", "Y") if name in types}
        return {**kept, "W": TensorType("int8", shapes["W"]), "B": each, **scaled}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.conv.result_dtypes({"X": dtypes["X"], "W": "int8"})

    def taps(self, shapes: Shapes) -> int:
        """Products in a total."""
        return self._second(shapes["X"])[1] // self.conv.groups * math.prod(self.kernel)

    def numpy(self, X: Array, W: Array) -> Array:
        per_group = self.filters // self.conv.groups
        rows = unpaired(words_of(W), self.way.is_apart, self.conv.groups, per_group, self.taps({"X": X.shape}))
        channels = rows.shape[1] // math.prod(self.kernel)
        order = tap_order(self.conv, self.kernel, channels, self.image_last, X.dtype.name)
        plain = rows[:, np.argsort(order)]
        weights = np.moveaxis(plain.reshape(self.filters, *self.kernel, -1), -1, 1)
        found = from_pairs(scaling_of(W), self.conv.requant, self.way, self.conv.groups, per_group)
        bias = found.start + self.conv.x_zero * rows.astype(np.int64).sum(1)
        scaled = () if self.conv.requant is None or self.way.name == ONE else (found.mul, found.add)
        image = np.moveaxis(X, -1, 1) if self.image_last else X.reshape(self._image(X.shape))
        conv = replace(self.conv, requant=None) if self.way.name == ONE else self.conv
        result = conv.numpy(image, weights, bias.astype(np.int32), *scaled)
        if self.way.name == ONE:
            totals = np.moveaxis(result, 1, 0)
            result = np.moveaxis(results(scaling_of(W), self.conv.requant, totals, self.conv.groups), 0, 1)
        return result.reshape(result.shape[:2]) if self.is_row else result

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {
            "conv": params_of(self.conv, self.plain_types(types)), "way": self.way.number,
            "image_last": int(self.image_last),
        }  # fmt: skip


def paired_conv(graph: Graph, node: Node, image_last: bool = False) -> Offer | None:
    """A convolution of bytes or 16 bits with constants; not one whose filters see one channel each."""
    op, operands = node.op, node.operands()
    weights = graph.constants.get(operands.get("W", ""))
    if not isinstance(op, Conv) or weights is None or op.channels_last or min(op.padding) < 0 or not weights.size:
        return None
    x = graph.types[operands["X"]].dtype
    if x not in ELEMENTS or (op.groups > 1 and weights.shape[1] == 1):
        return None
    order = tap_order(op, weights.shape[2:], weights.shape[1], image_last, x)
    rows = np.moveaxis(weights, 1, -1).reshape(len(weights), -1)[:, order].astype(np.int64) - op.w_zero
    made = paired_constants(graph, operands, "B", rows, op.x_zero, x, op.requant, op.groups)
    if made is None:
        return None
    way, pairs = made
    names = {f"{node.key}_pairs": pairs}
    found = PairedConv(len(weights), weights.shape[2:], way, replace(op, w_zero=0), image_last)
    return Offer(found, (operands["X"], *names), names)


def paired_constants(
    graph: Graph, operands: Mapping[str, str], bias: str, rows: Array, zero: int, dtype: str, requant: Requant | None,
    groups: int,
) -> tuple[RequantForm, Array] | None:  # fmt: skip
    """The way of a layer with these rows of weights, and the bytes of its pairs; None where something is computed, or
    does not fit."""
    filters = filters_of(graph, operands, bias, rows, zero, dtype)
    if filters is None:
        return None
    pairs = pack_rows(ORDER, rows, groups)
    name = filters.way(requant)
    if requant is not None and requant.rounding == Rounding.DOUBLE and filters.largest.max() >= LARGEST_TOTAL:
        # Kernels double totals to round twice.
        return None
    fits = bool(filters.largest.max() < LARGEST_JOINED and (pairs[..., 1] - carried(pairs)).min() >= INT8[0])
    if fits and name != "totals" and requant is not None:
        scaling = one_product_pairs(requant, filters, groups)
        if scaling is not None:
            return RequantForm(ONE, False), in_order(joined(pairs, False), scaling.words(filters.start, groups))
    # Only kernels of filters that are apart know totals, so that others are small.
    is_apart = name == "totals" or not (fits and filters.may_be_second(requant, name))
    way = RequantForm(name, is_apart)
    return way, in_order(joined(pairs, is_apart), filters.in_pairs(requant, way, groups))


def filters_of(
    graph: Graph, operands: Mapping[str, str], bias: str, rows: Array, zero: int, dtype: str
) -> Filters | None:
    """What filters with these rows of weights add and are scaled by; None where that is computed, or does not fit."""
    if not rows.size or rows.min() < INT8[0] or rows.max() > INT8[1]:
        return None
    start, mul, add = (value_per_filter(graph, operands.get(name), len(rows)) for name in (bias, "mul", "add"))
    if start is None or mul is None or add is None:
        return None
    start = start - zero * rows.sum(1)
    least, most = limits(dtype)
    ends = np.stack([rows * least, rows * most])
    low, high = start + ends.min(0).sum(1), start + ends.max(0).sum(1)
    found = Filters(start, mul, add if "add" in operands else None, low, high)
    return found if found.largest.max() < LARGEST_TOTAL or dtype == WIDE else None
