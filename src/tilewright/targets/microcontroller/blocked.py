"""Filters in blocks: the weights of four filters for a tap lie side by side, so that one pointer walks along all four.

A convolution of bytes with constant weights is offered in this form. Zero points are part of the bias then, also where
there is padding, and weights have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from math import prod
from typing import ClassVar

import numpy as np

from tilewright.ir.affine import whole
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._linear import NARROW
from tilewright.ops._packing import pack_rows, unpack_rows
from tilewright.ops._rearranged import RearrangedConv, folded_zero
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.target.target import Offer

ORDER = "(g f/4) k f:4"
"""TW_BLOCK in C is 4: filters that are computed together."""
DOTS_ORDER = "(g f/4) (k/4 f:4 k:4)"
"""The same, four taps of a filter at a time."""
BITS_ORDER = "(g f/4) (k/16 f:4 k:16)"
"""The same, sixteen weights of two bits of a filter at a time."""
INT8, INT2 = (-128, 127), (-2, 1)
LARGEST_TOTAL = 2**30
"""Totals have to be smaller: kernels take twice of them."""


@dataclass(frozen=True)
class BlockedConv(RearrangedConv):
    """A convolution, channels second, whose filters are in blocks. Padding has the value `conv.x_zero`, which is not
    subtracted: the bias has all that zero points add."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B", "mul?", "add?")
    order: ClassVar[str] = ORDER
    stored: ClassVar[str] = "int8"
    """The element type of weights as they are stored."""
    weights: ClassVar[tuple[int, int]] = INT8
    """The least and the greatest that it has room for."""
    filters: int = 1
    """Of all groups."""
    kernel: Shape = (1, 1)
    conv: Conv = field(default_factory=Conv)

    # ---- geometry: that of the convolution, but for the weights -----------------------------------------------------

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        return {**shapes, "W": (self.filters, shapes["X"][1] // self.conv.groups, *self.kernel)}

    def index(self, shapes: Shapes) -> Index:
        return {**self.conv.index(self.plain_shapes(shapes)), "W": tuple(map(whole, shapes["W"]))}

    # ---- types and meaning ------------------------------------------------------------------------------------------

    def zero_of(self, dtype: str) -> int:
        """What the bias has been freed of for each weight."""
        return self.conv.x_zero

    @classmethod
    def packed(cls, rows: Array, groups: int) -> Array:
        return pack_rows(cls.order, rows.astype(np.int8), groups).view(cls.stored)

    @classmethod
    def in_order(cls, packed: Array) -> Array:
        """Each weight as a byte."""
        return packed.view(np.int8)

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        shapes = self.plain_shapes({name: kind.shape for name, kind in types.items()})
        return {**types, "W": TensorType("int8", shapes["W"])}

    def numpy(self, X: Array, W: Array, B: Array, *rest: Array | None, **named: Array) -> Array:
        length = X.shape[1] // self.conv.groups * prod(self.kernel)
        rows = unpack_rows(self.order, self.in_order(W), self.conv.groups, self.filters // self.conv.groups, length)
        weights = rows.reshape(self.filters, -1, *self.kernel)
        bias = B.astype(np.int64) + self.zero_of(X.dtype.name) * rows.astype(np.int64).sum(1)
        return self.conv.numpy(X, weights, bias.astype(np.int32), *rest, **named)


@dataclass(frozen=True)
class DottedConv(BlockedConv):
    """Four taps of a filter lie side by side, as a word; unsigned bytes are multiplied as signed ones."""

    order: ClassVar[str] = DOTS_ORDER
    stored: ClassVar[str] = "int32"

    def zero_of(self, dtype: str) -> int:
        return folded_zero(self.conv.x_zero, dtype)

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check({**types, "W": TensorType("int8", types["W"].shape)})


class UnsignedDottedConv(DottedConv):
    """Signed bytes are multiplied as unsigned ones."""

    def zero_of(self, dtype: str) -> int:
        return unsigned_zero(self.conv.x_zero, dtype)


class BitsConv(UnsignedDottedConv):
    """Sixteen weights of two bits lie in a word: their lower bits in its lower half."""

    order: ClassVar[str] = BITS_ORDER
    weights: ClassVar[tuple[int, int]] = INT2

    @classmethod
    def packed(cls, rows: Array, groups: int) -> Array:
        return bits_of(pack_rows(cls.order, rows.astype(np.int8), groups))

    @classmethod
    def in_order(cls, packed: Array) -> Array:
        return weights_of(packed)


def unsigned_zero(x_zero: int, dtype: str) -> int:
    """What a bias has been freed of for each weight where signed bytes are multiplied as unsigned ones, 128 more."""
    return x_zero + (128 if dtype == "int8" else 0)


def bits_of(weights: Array) -> Array:
    """Words of the bits of sixteen weights each, along the last axis."""
    sixteens = weights.reshape(*weights.shape[:-1], -1, 16).astype(np.int64)
    places = np.arange(16)
    words = ((sixteens & 1) << places | (sixteens >> 1 & 1) << 16 + places).sum(-1)
    return words.astype(np.uint32).view(np.int32)


def weights_of(words: Array) -> Array:
    """What `bits_of` has made words of."""
    codes = words.view(np.uint32)[..., None]
    places = np.arange(16, dtype=np.uint32)
    weights = (codes >> places & 1).astype(np.int8) - 2 * (codes >> 16 + places & 1).astype(np.int8)
    return weights.reshape(*words.shape[:-1], -1)


def blocked_conv(graph: Graph, node: Node, form: type[BlockedConv] = BlockedConv) -> Offer | None:
    """A convolution of bytes with constant weights and bias; not one whose filters see one channel each."""
    op, operands = node.op, node.operands()
    weights = graph.constants.get(operands.get("W", ""))
    if (
        not isinstance(op, Conv)
        or weights is None
        or op.channels_last
        or graph.types[operands["X"]].dtype not in NARROW
    ):
        return None
    bias = graph.constants.get(operands["B"]) if "B" in operands else np.zeros(1, np.int32)
    is_depthwise = op.groups > 1 and weights.shape[1] == 1
    rows = weights.reshape(len(weights), -1).astype(np.int64) - op.w_zero
    if (
        bias is None
        or is_depthwise
        or min(op.padding) < 0
        or not rows.size
        or rows.min() < form.weights[0]
        or rows.max() > form.weights[1]
    ):
        return None
    kernel = weights.shape[2:]
    made_op = form(len(weights), kernel, replace(op, w_zero=0))
    folded = bias.astype(np.int64) - made_op.zero_of(graph.types[operands["X"]].dtype) * rows.sum(1)
    if (np.abs(folded) + np.abs(rows).sum(1) * 255).max() >= LARGEST_TOTAL:
        return None
    made = {
        f"{node.key}_{form.__name__}": form.packed(rows, op.groups),
        f"{node.key}_starts": folded.astype(np.int32),
    }
    inputs = (operands["X"], *made, *(operands.get(name, "") for name in ("mul", "add")))
    return Offer(made_op, without_tail(inputs), made)


def without_tail(inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Operands that are missing at the end are not written."""
    while not inputs[-1]:
        inputs = inputs[:-1]
    return inputs
