"""Kernels of sums of products for one core with 32 registers and no vectors."""

from __future__ import annotations

import math
from typing import cast

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import pair, reach
from tilewright.ops.conv import Conv
from tilewright.target.kernel import Kernel, Types
from tilewright.target.target import Offer
from tilewright.targets.generic.linear import (
    INTEGER_CONV,
    NARROW_CONV,
    TOTALS,
    not_depthwise,
)
from tilewright.targets.rv32.blocked import BlockedConv, blocked_conv, plain_conv, taps
from tilewright.targets.rv32.blocked_product import BlockedMatMul, blocked_product

PIXELS = 4
"""Of a panel, in C: pixels that are multiplied together."""
WORD = 4
ROWS = 4
"""That meet a block of columns together."""
TOTALS_AT_A_TIME = 512
"""Of a depthwise convolution, before they are requantised."""


def is_flat(op: Op, types: Types) -> bool:
    conv = plain_conv(op)
    one_tap = math.prod(instance(op, BlockedConv).kernel) == 1
    return one_tap and set(conv.strides) == {1} and not any(conv.padding)


def band_pitch(conv: Conv, kernel: tuple[int, ...], out_w: int) -> int:
    """tw_band_pitch of row_copy.h."""
    width = (out_w - 1) * conv.strides[-1] + reach(kernel[-1], conv.dilations[-1])
    return -(-width // WORD) * WORD


def blocked_scratch(op: Op, types: Types) -> int:
    """The panel, and behind it the band of a row of results, which may begin within a word."""
    if is_flat(op, types):
        return 0
    conv, kernel = plain_conv(op), instance(op, BlockedConv).kernel
    rows = taps(op, types) // kernel[-1]
    return PIXELS * taps(op, types) + WORD + rows * band_pitch(conv, kernel, types["Y"].shape[-1])


def depthwise_rows(types: Types) -> int:
    """Rows of results at a time."""
    height, width = pair(types["Y"].shape[2:])
    return max(1, min(height, TOTALS_AT_A_TIME // max(width, 1)))


def depthwise_params(op: Op, types: Types) -> Params:
    return {**op.params(types), "chunk": depthwise_rows(types)}


def depthwise_scratch(op: Op, types: Types) -> int:
    """Rows of totals, the weights as words, and the band of these rows, which may begin within a word."""
    conv, kernel, out_w = cast(Conv, op), types["W"].shape[2:], types["Y"].shape[-1]
    (stride, _), (high, _), (dilation, _) = pair(conv.strides), pair(kernel), pair(conv.dilations)
    rows = depthwise_rows(types)
    band = ((rows - 1) * stride + reach(high, dilation)) * band_pitch(conv, kernel, out_w)
    return 4 * (rows * out_w + math.prod(kernel)) + WORD + band


def interleaved_rows(op: Op, types: Types) -> int:
    """Four rows, where there are so many."""
    inner = types["A"].shape[-1]
    return ROWS * inner if types["A"].elements >= ROWS * inner else 0


def forms(graph: Graph, node: Node) -> list[Offer]:
    """Convolutions and products in blocks."""
    found = blocked_conv(graph, node) or blocked_product(graph, node)
    return [] if found is None else [found]


KERNELS = (
    Kernel(
        BlockedConv, "conv_blocked.c", "X W:int8 B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "Y": TOTALS},
        scratch=blocked_scratch, header="conv.h",
    ),
    Kernel(
        BlockedMatMul, "matmul_blocked.c", "A W:int8 C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "Y": TOTALS},
        scratch=interleaved_rows,
    ),
    Kernel(
        Conv, "depthwise_rows.c", INTEGER_CONV, NARROW_CONV, depthwise_params, depthwise_scratch, not_depthwise,
        header="conv.h",
    ),
)  # fmt: skip
