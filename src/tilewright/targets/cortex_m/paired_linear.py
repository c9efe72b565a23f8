"""Kernels of sums of products for cores that multiply pairs of 16 bits in one instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ir.types import BYTES
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import pair
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.target.target import Offer
from tilewright.targets.cortex_m import depthwise_taps_samples, halves_samples
from tilewright.targets.cortex_m.depthwise_halves import HalvesConv, halves_conv
from tilewright.targets.cortex_m.depthwise_taps import TapsConv, taps_conv
from tilewright.targets.cortex_m.depthwise_windows import TWO_ROWS, WindowConv, window_conv
from tilewright.targets.cortex_m.paired import ELEMENTS, WIDE, PairedConv, paired_conv
from tilewright.targets.cortex_m.paired_product import PairedMatMul, paired_product
from tilewright.targets.cortex_m.sizes import pairs_in_c
from tilewright.targets.generic.linear import TOTALS, in_place_of_planes
from tilewright.targets.microcontroller import linear

Paired = PairedConv | PairedMatMul
PIXELS = 4
"""TW_PANEL_PIXELS in C."""
RESULTS_AT_A_TIME = 2560
"""Bytes of a depthwise convolution's results: the band of their rows is copied."""
TOTALS_AT_A_TIME = 512
"""Of a depthwise convolution whose totals are kept in memory."""


# ---- rows of results from one band ----------------------------------------------------------------------------------


def rows_at_a_time(types: Types) -> int:
    """Several, where rows have pixels left over that are multiplied one by one."""
    height, width = pair(types["Y"].shape[2:] or (1, 1))
    return min(height, {1: PIXELS, 2: PIXELS // 2}.get(width % PIXELS, 1))


def window_rows(types: Types) -> int:
    """Whole images, or an even number."""
    height, width = types["Y"].shape[2:]
    return min(height, max(TWO_ROWS, RESULTS_AT_A_TIME // max(width, 1) // TWO_ROWS * TWO_ROWS))


def halves_rows(types: Types) -> int:
    """Of 16-bit results."""
    height, width = pair(types["Y"].shape[2:])
    return max(1, min(height, RESULTS_AT_A_TIME // BYTES[WIDE] // max(width, 1)))


def taps_rows(types: Types) -> int:
    """Of totals, before they are requantised."""
    height, width = pair(types["Y"].shape[2:])
    return max(1, min(height, TOTALS_AT_A_TIME // max(width, 1)))


def chunked(rows: Callable[[Types], int]) -> Callable[[Op, Types], Params]:
    """The fields of a convolution in pairs with so many rows of results at a time."""

    def params(op: Op, types: Types) -> Params:
        fields = params_of(op, types)
        return {**fields, "conv": {**cast(Params, fields["conv"]), "chunk": rows(types)}}

    return params


# ---- kernels --------------------------------------------------------------------------------------------------------


def forms(graph: Graph, node: Node) -> list[Offer]:
    """Convolutions and products in pairs; in blocks where totals are too large for pairs."""
    found = paired_conv(graph, node) or paired_product(graph, node) or window_conv(graph, node)
    found = found or taps_conv(graph, node) or halves_conv(graph, node)
    return linear.forms(graph, node) if found is None else [found]


def not_apart(op: Op, types: Types) -> str | None:
    return "its filters need separate accumulators" if cast(Paired, op).way.is_apart else None


def not_joined(op: Op, types: Types) -> str | None:
    return None if cast(Paired, op).way.is_apart else "pairs of its filters share accumulators"


CONV = "X W:int8 -> Y", {"X": ELEMENTS, "Y": TOTALS}, chunked(rows_at_a_time), pairs_in_c("tw_conv_pairs_scratch")
PRODUCT = "A W:int8 -> Y", {"A": ELEMENTS, "Y": TOTALS}, params_of, pairs_in_c("tw_matmul_pairs_scratch")
CONV_WORK = pairs_in_c.work("tw_conv_pairs_work")

KERNELS = (
    Kernel(
        PairedConv, "conv_pairs.c", *CONV, unsupported_reason=not_apart, work=CONV_WORK,
        samples=lambda: halves_samples.conv_from_bytes(paired_conv),
    ),
    Kernel(
        PairedConv, "conv_pairs_apart.c", *CONV, unsupported_reason=not_joined, header="conv_pairs.h", work=CONV_WORK,
        samples=lambda: halves_samples.conv_samples(paired_conv),
    ),
    Kernel(
        PairedMatMul, "matmul_pairs.c", *PRODUCT, unsupported_reason=not_apart,
        work=pairs_in_c.work("tw_matmul_pairs_work"),
        samples=lambda: halves_samples.product_from_bytes(paired_product),
    ),
    Kernel(
        PairedMatMul, "matmul_pairs_apart.c", *PRODUCT, unsupported_reason=not_joined, header="matmul_pairs.h",
        work=pairs_in_c.work("tw_matmul_pairs_work"), samples=lambda: halves_samples.product_samples(paired_product),
    ),
    Kernel(
        WindowConv, "depthwise_windows.c", "X W:int8 -> Y", {"X": NARROW, "Y": NARROW}, chunked(window_rows),
        pairs_in_c("tw_depthwise_windows_scratch"), header="conv_pairs.h",
        in_place=lambda op, types: in_place_of_planes(window_rows(types), types),
        work=pairs_in_c.work("tw_depthwise_windows_work"),
    ),
    Kernel(
        HalvesConv, "depthwise_halves.c", "X W:int8 -> Y", {"X": frozenset({WIDE}), "Y": TOTALS}, chunked(halves_rows),
        pairs_in_c("tw_depthwise_halves_scratch"), header="conv_pairs.h",
        work=pairs_in_c.work("tw_depthwise_halves_work"),
        samples=lambda: halves_samples.depthwise_samples(halves_conv),
        in_place=lambda op, types: in_place_of_planes(halves_rows(types), types),
    ),
    Kernel(
        TapsConv, "depthwise_taps.c", "X W:int8 -> Y", {"X": NARROW, "Y": TOTALS}, chunked(taps_rows),
        pairs_in_c("tw_depthwise_taps_scratch"), header="conv_pairs.h",
        work=pairs_in_c.work("tw_depthwise_taps_work"), samples=depthwise_taps_samples.samples,
        in_place=lambda op, types: in_place_of_planes(taps_rows(types), types),
    ),
    *linear.KERNELS,
)  # fmt: skip
