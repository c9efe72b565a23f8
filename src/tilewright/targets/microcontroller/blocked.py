"""Filters in blocks: the weights of four filters for a tap lie side by side, so that one pointer walks along all four.

A convolution of bytes with constant weights is offered in this form. Zero points are part of the bias then, also where
there is padding, and weights have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from tilewright.ir.affine import whole
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._linear import NARROW
from tilewright.ops._packing import pack_rows, unpack_rows
from tilewright.ops._rearranged import RearrangedConv
from tilewright.ops.conv import Conv
from tilewright.target.target import Offer

ORDER = "(g f/4) k f:4"
"""TW_BLOCK in C is 4: filters that are computed together."""
INT8 = (-128, 127)
LARGEST_TOTAL = 2**30
"""Totals have to be smaller: kernels take twice of them."""


@dataclass(frozen=True)
class BlockedConv(RearrangedConv):
    """A convolution, channels second, whose filters are in blocks. Padding has the value `conv.x_zero`, which is not
    subtracted: the bias has all that zero points add."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B", "mul?", "add?")
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

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        shapes = self.plain_shapes({name: kind.shape for name, kind in types.items()})
        return {**types, "W": TensorType("int8", shapes["W"])}

    def numpy(self, X: Array, W: Array, B: Array, *rest: Array | None, **named: Array) -> Array:
        rows = unpack_rows(ORDER, W, self.conv.groups, self.filters // self.conv.groups, W.shape[1])
        weights = rows.reshape(self.filters, -1, *self.kernel)
        bias = B.astype(np.int64) + self.conv.x_zero * rows.astype(np.int64).sum(1)
        return self.conv.numpy(X, weights, bias.astype(np.int32), *rest, **named)


def blocked_conv(graph: Graph, node: Node) -> Offer | None:
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
        or rows.min() < INT8[0]
        or rows.max() > INT8[1]
    ):
        return None
    folded = bias.astype(np.int64) - op.x_zero * rows.sum(1)
    if (np.abs(folded) + np.abs(rows).sum(1) * 255).max() >= LARGEST_TOTAL:
        return None
    kernel = weights.shape[2:]
    made = {
        f"{node.key}_blocks": pack_rows(ORDER, rows.astype(np.int8), op.groups),
        f"{node.key}_starts": folded.astype(np.int32),
    }
    inputs = (operands["X"], *made, *(operands.get(name, "") for name in ("mul", "add")))
    return Offer(BlockedConv(len(weights), kernel, replace(op, w_zero=0)), without_tail(inputs), made)


def without_tail(inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Operands that are missing at the end are not written."""
    while not inputs[-1]:
        inputs = inputs[:-1]
    return inputs
