"""Kernels of sums of products for one core with 32 registers and no vectors."""

from __future__ import annotations

import math
from typing import cast

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.target.target import Offer
from tilewright.targets.generic.linear import (
    INTEGER_CONV,
    INTEGER_MATMUL,
    NARROW_CONV,
    NARROW_MATMUL,
    TOTALS,
    in_place_of_planes,
    not_depthwise,
)
from tilewright.targets.microcontroller import features
from tilewright.targets.microcontroller.blocked import BlockedConv, blocked_conv, plain_conv, taps
from tilewright.targets.microcontroller.blocked_product import BlockedMatMul, blocked_product
from tilewright.targets.microcontroller.features import (
    PIXELS,
    ROWS,
    WORD,
    band_pitch,
    columns_at_a_time,
    depthwise_band,
    depthwise_rows,
    is_flat,
)


def blocked_scratch(op: Op, types: Types) -> int:
    """The panel, and behind it the band of a row of results, which may begin within a word."""
    if is_flat(op):
        return 0
    kernel = instance(op, BlockedConv).kernel
    rows = taps(op, types) // kernel[-1]
    return PIXELS * taps(op, types) + WORD + rows * band_pitch(plain_conv(op), kernel, types["Y"].shape[-1])


def depthwise_params(op: Op, types: Types) -> Params:
    return {**params_of(op, types), "chunk": depthwise_rows(types)}


def depthwise_scratch(op: Op, types: Types) -> int:
    """Rows of totals, the weights as words, and the band of these rows, which may begin within a word."""
    totals = depthwise_rows(types) * types["Y"].shape[-1]
    return 4 * (totals + math.prod(types["W"].shape[2:])) + WORD + depthwise_band(op, types)


def interleaved_rows(op: Op, types: Types) -> int:
    """Four rows, where there are so many."""
    inner = types["A"].shape[-1]
    return ROWS * inner if types["A"].elements >= ROWS * inner else 0


def panels_scratch(op: Op, types: Types) -> int:
    """What totals begin with, four rows, and some columns."""
    inner, columns = cast(int, params_of(op, types)["inner"]), columns_at_a_time(op, types)
    return 4 * columns + (ROWS + columns) * inner


def forms(graph: Graph, node: Node) -> list[Offer]:
    """Convolutions and products in blocks."""
    found = blocked_conv(graph, node) or blocked_product(graph, node)
    return [] if found is None else [found]


KERNELS = (
    Kernel(
        BlockedConv, "conv_blocked.c", "X W:int8 B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "Y": TOTALS},
        scratch=blocked_scratch, header="conv.h", features=features.conv_features, samples=features.conv_samples,
    ),
    Kernel(
        BlockedMatMul, "matmul_blocked.c", "A W:int8 C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "Y": TOTALS},
        scratch=interleaved_rows, features=features.matmul_features, samples=features.matmul_samples,
    ),
    Kernel(
        MatMul, "matmul_panels.c", INTEGER_MATMUL, NARROW_MATMUL, scratch=panels_scratch, header="matmul.h",
        features=features.panels_features, samples=features.panels_samples,
    ),
    Kernel(
        Conv, "depthwise_rows.c", INTEGER_CONV, NARROW_CONV, depthwise_params, depthwise_scratch, not_depthwise,
        header="conv.h", features=features.depthwise_features, samples=features.depthwise_samples,
        in_place=lambda op, types: in_place_of_planes(depthwise_rows(types), types),
    ),
)  # fmt: skip
