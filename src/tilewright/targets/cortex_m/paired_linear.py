"""Kernels of sums of products for cores that multiply pairs of 16 bits in one instruction."""

from __future__ import annotations

import math
from typing import cast

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ir.types import BYTES
from tilewright.ops._linear import NARROW
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.target.target import Offer
from tilewright.targets.cortex_m import halves_samples
from tilewright.targets.cortex_m.halves import HalvesConv, halves_conv
from tilewright.targets.cortex_m.paired import ELEMENTS, WIDE, PairedConv, paired_conv
from tilewright.targets.cortex_m.paired_features import (
    conv_features,
    halves_features,
    product_features,
    window_features,
)
from tilewright.targets.cortex_m.paired_product import PairedMatMul, paired_product
from tilewright.targets.cortex_m.paired_sizes import (
    band_bytes,
    halves_band,
    halves_rows,
    is_flat,
    panel_bytes,
    rows_at_a_time,
    window_band,
    window_rows,
)
from tilewright.targets.cortex_m.windows import WindowConv, window_conv
from tilewright.targets.generic.linear import TOTALS, in_place_of_planes
from tilewright.targets.microcontroller import linear
from tilewright.targets.microcontroller.features import PIXELS, ROWS, WORD

Paired = PairedConv | PairedMatMul


def conv_params(op: Op, types: Types) -> Params:
    fields = params_of(op, types)
    return {**fields, "conv": {**cast(Params, fields["conv"]), "chunk": rows_at_a_time(op, types)}}


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


def window_params(op: Op, types: Types) -> Params:
    fields = params_of(op, types)
    return {**fields, "conv": {**cast(Params, fields["conv"]), "chunk": window_rows(op, types)}}


def halves_params(op: Op, types: Types) -> Params:
    fields = params_of(op, types)
    return {**fields, "conv": {**cast(Params, fields["conv"]), "chunk": halves_rows(types)}}


def halves_scratch(op: Op, types: Types) -> int:
    """The band, which is read by words."""
    return BYTES[WIDE] * halves_band(op, types) + 2 * WORD


def forms(graph: Graph, node: Node) -> list[Offer]:
    """Convolutions and products in pairs; in blocks where totals are too large for pairs."""
    found = paired_conv(graph, node) or paired_product(graph, node) or window_conv(graph, node)
    found = found or halves_conv(graph, node)
    return linear.forms(graph, node) if found is None else [found]


def not_apart(op: Op, types: Types) -> str | None:
    return "its filters need separate accumulators" if cast(Paired, op).way.is_apart else None


def not_joined(op: Op, types: Types) -> str | None:
    return None if cast(Paired, op).way.is_apart else "pairs of its filters share accumulators"


CONV = "X W:int8 -> Y", {"X": ELEMENTS, "Y": TOTALS}
PRODUCT = "A W:int8 -> Y", {"A": ELEMENTS, "Y": TOTALS}

KERNELS = (
    Kernel(
        PairedConv, "conv_pairs.c", *CONV, conv_params, conv_scratch, unsupported_reason=not_apart,
        features=conv_features,
    ),
    Kernel(
        PairedConv, "conv_pairs_apart.c", *CONV, conv_params, conv_scratch, unsupported_reason=not_joined,
        header="conv_pairs.h", features=conv_features, samples=lambda: halves_samples.conv_samples(paired_conv),
    ),
    Kernel(PairedMatMul, "matmul_pairs.c", *PRODUCT, scratch=product_scratch, unsupported_reason=not_apart),
    Kernel(
        PairedMatMul, "matmul_pairs_apart.c", *PRODUCT, scratch=product_scratch, unsupported_reason=not_joined,
        header="matmul_pairs.h", features=product_features,
        samples=lambda: halves_samples.product_samples(paired_product),
    ),
    Kernel(
        WindowConv, "depthwise_windows.c", "X W:int8 -> Y", {"X": NARROW, "Y": NARROW}, window_params,
        window_band, header="conv_pairs.h",
        in_place=lambda op, types: in_place_of_planes(window_rows(op, types), types), features=window_features,
    ),
    Kernel(
        HalvesConv, "depthwise_halves.c", "X W:int8 -> Y", {"X": frozenset({WIDE}), "Y": TOTALS}, halves_params,
        halves_scratch, header="conv_pairs.h", features=halves_features,
        samples=lambda: halves_samples.depthwise_samples(halves_conv),
        in_place=lambda op, types: in_place_of_planes(halves_rows(types), types),
    ),
    *linear.KERNELS,
)  # fmt: skip
