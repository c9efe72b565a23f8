"""Kernels of sums of products for cores that multiply pairs of 16 bits in one instruction."""

from __future__ import annotations

import math
from typing import cast

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ir.types import BYTES
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import pair, reach
from tilewright.target.kernel import Kernel, Types
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.paired import PairedConv, paired_conv
from tilewright.targets.cortex_m.paired_product import PairedMatMul, paired_product
from tilewright.targets.cortex_m.windows import SIDE, TWO_ROWS, WindowConv, window_conv
from tilewright.targets.generic.linear import TOTALS, in_place_of_planes
from tilewright.targets.microcontroller import linear
from tilewright.targets.microcontroller.features import PIXELS, ROWS, WORD, band_pitch

Paired = PairedConv | PairedMatMul
RESULTS_AT_A_TIME = 2560
"""Of a depthwise convolution: the band of their rows is copied."""


def panel_bytes(taps: int) -> int:
    """Of some pixels: two taps in a word."""
    return WORD * PIXELS * (-(-taps // 2))


def is_flat(op: PairedConv) -> bool:
    """One tap on every pixel: no band is needed."""
    one_tap = math.prod(op.kernel) == 1 and set(op.conv.strides) == {1} and not any(op.conv.padding)
    return one_tap and not op.image_last


def rows_at_a_time(op: Op, types: Types) -> int:
    """Rows of results from one band: several, where rows have pixels left over that are multiplied one by one."""
    height, width = pair(types["Y"].shape[2:] or (1, 1))
    return min(height, {1: PIXELS, 2: PIXELS // 2}.get(width % PIXELS, 1))


def conv_params(op: Op, types: Types) -> Params:
    fields = op.params(types)
    return {**fields, "conv": {**cast(Params, fields["conv"]), "chunk": rows_at_a_time(op, types)}}


def band_bytes(op: PairedConv, types: Types) -> int:
    """As conv_pairs.c has it: it may begin within a word, and is read and moved by words."""
    conv, channels = op.conv, op.taps({"X": types["X"].shape}) // math.prod(op.kernel)
    (stride, _), (high, _), (dilation, _) = pair(conv.strides), pair(op.kernel), pair(conv.dilations)
    rows = (rows_at_a_time(op, types) - 1) * stride + reach(high, dilation)
    width = (types["Y"].shape[-1] - 1) * conv.strides[-1] + reach(op.kernel[-1], conv.dilations[-1])
    row = -(-width * channels // WORD) * WORD if op.image_last else channels * (-(-width // WORD) * WORD)
    return rows * row + 8 * WORD


def conv_scratch(op: Op, types: Types) -> int:
    """The panel; behind it the offsets of taps and the band."""
    found = instance(op, PairedConv)
    taps = found.taps({"X": types["X"].shape})
    if is_flat(found):
        return panel_bytes(taps) // (1 if math.prod(types["Y"].shape[2:]) >= PIXELS else PIXELS)
    return panel_bytes(taps) + WORD * taps + band_bytes(found, types)


def product_scratch(op: Op, types: Types) -> int:
    """The panel, and results of some rows before they are put in order."""
    inner, columns = types["A"].shape[-1], instance(op, PairedMatMul).columns
    has_rows = types["A"].elements >= ROWS * inner
    return panel_bytes(inner) + ROWS * columns * BYTES[types["Y"].dtype] if has_rows else WORD * (-(-inner // 2))


def window_rows(op: Op, types: Types) -> int:
    """Rows of results at a time: whole images, or an even number."""
    height, width = types["Y"].shape[2:]
    return min(height, max(TWO_ROWS, RESULTS_AT_A_TIME // max(width, 1) // TWO_ROWS * TWO_ROWS))


def window_params(op: Op, types: Types) -> Params:
    fields = op.params(types)
    return {**fields, "conv": {**cast(Params, fields["conv"]), "chunk": window_rows(op, types)}}


def window_scratch(op: Op, types: Types) -> int:
    """The band of some rows, which may begin within a word and is read by words."""
    conv = instance(op, WindowConv).conv
    rows = (window_rows(op, types) - 1) * conv.strides[0] + SIDE
    return rows * band_pitch(conv, (SIDE, SIDE), types["Y"].shape[-1]) + 3 * WORD


def forms(graph: Graph, node: Node) -> list[Offer]:
    """Convolutions and products in pairs; in blocks where totals are too large for pairs."""
    found = paired_conv(graph, node) or paired_product(graph, node) or window_conv(graph, node)
    return linear.forms(graph, node) if found is None else [found]


def not_apart(op: Op, types: Types) -> str | None:
    return "filters are apart" if cast(Paired, op).way.is_apart else None


def not_joined(op: Op, types: Types) -> str | None:
    return None if cast(Paired, op).way.is_apart else "filters are not apart"


CONV = "X W:int8 -> Y", {"X": NARROW, "Y": TOTALS}
PRODUCT = "A W:int8 -> Y", {"A": NARROW, "Y": TOTALS}

KERNELS = (
    Kernel(PairedConv, "conv_pairs.c", *CONV, conv_params, conv_scratch, objection=not_apart),
    Kernel(
        PairedConv, "conv_pairs_apart.c", *CONV, conv_params, conv_scratch, objection=not_joined, header="conv_pairs.h"
    ),
    Kernel(PairedMatMul, "matmul_pairs.c", *PRODUCT, scratch=product_scratch, objection=not_apart),
    Kernel(
        PairedMatMul, "matmul_pairs_apart.c", *PRODUCT, scratch=product_scratch, objection=not_joined,
        header="matmul_pairs.h",
    ),
    Kernel(
        WindowConv, "depthwise_windows.c", "X W:int8 -> Y", {"X": NARROW, "Y": NARROW}, window_params,
        window_scratch, header="conv_pairs.h",
        in_place=lambda op, types: in_place_of_planes(window_rows(op, types), types),
    ),
    *linear.KERNELS,
)  # fmt: skip
