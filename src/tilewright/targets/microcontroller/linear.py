"""Kernels of sums of products for one core with 32 registers and no vectors."""

from __future__ import annotations

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import pair
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
from tilewright.targets.microcontroller import samples
from tilewright.targets.microcontroller.blocked import BlockedConv, blocked_conv
from tilewright.targets.microcontroller.blocked_product import BlockedMatMul, blocked_product
from tilewright.targets.microcontroller.sizes import in_c

TOTALS_AT_A_TIME = 512
"""Of a depthwise convolution, before they are requantised."""


def depthwise_rows(types: Types) -> int:
    """Rows of results at a time."""
    height, width = pair(types["Y"].shape[2:])
    return max(1, min(height, TOTALS_AT_A_TIME // max(width, 1)))


def depthwise_params(op: Op, types: Types) -> Params:
    return {**params_of(op, types), "chunk": depthwise_rows(types)}


def forms(graph: Graph, node: Node) -> list[Offer]:
    """Convolutions and products in blocks."""
    found = blocked_conv(graph, node) or blocked_product(graph, node)
    return [] if found is None else [found]


KERNELS = (
    Kernel(
        BlockedConv, "conv_blocked.c", "X W:int8 B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "Y": TOTALS},
        scratch=in_c("tw_conv_blocked_scratch"), header="conv.h", work=in_c.work("tw_conv_blocked_work"),
        samples=samples.conv_samples,
    ),
    Kernel(
        BlockedMatMul, "matmul_blocked.c", "A W:int8 C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "Y": TOTALS},
        scratch=in_c("tw_matmul_blocked_scratch"), work=in_c.work("tw_matmul_blocked_work"),
        samples=samples.matmul_samples,
    ),
    Kernel(
        MatMul, "matmul_panels.c", INTEGER_MATMUL, NARROW_MATMUL, scratch=in_c("tw_matmul_panels_scratch"),
        header="matmul.h", work=in_c.work("tw_matmul_panels_work"), samples=samples.panels_samples,
    ),
    Kernel(
        Conv, "depthwise_rows.c", INTEGER_CONV, NARROW_CONV, depthwise_params, in_c("tw_depthwise_rows_scratch"),
        not_depthwise, header="conv.h", work=in_c.work("tw_depthwise_rows_work"), samples=samples.depthwise_samples,
        in_place=lambda op, types: in_place_of_planes(depthwise_rows(types), types),
    ),
)  # fmt: skip
