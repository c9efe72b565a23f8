"""Kernels for vectors of 16 bytes (MVE): channels last, products of bytes or of 16-bit elements with bytes."""

from __future__ import annotations

import math
from functools import partial
from typing import cast

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ir.rounding import Rounding
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import ChannelPosition, all_worth_it, with_layout
from tilewright.target.constant_layer import WIDE
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.cortex_m.vector_elements import all_fit
from tilewright.targets.cortex_m.vector_forms import (
    ELEMENTS,
    FILTERS,
    VECTOR,
    VectorConv,
    VectorDepthwise,
    VectorProduct,
)
from tilewright.targets.cortex_m.vector_offers import SHORT_RESULTS
from tilewright.targets.generic.linear import FLOAT, INTEGER_MATMUL, NARROW_MATMUL, TOTALS

STRIP_BYTES, STRIP_PIXELS = 2048, 16
"""Of windows that are gathered at a time: at least one."""
PANEL_BYTES, FEWEST_ROWS = 4096, 4
"""Of products of what is computed: columns that are laid out at a time, and rows that they pay for."""
MACS_PER_BYTE = 4
"""Multiplications whose savings pay for a byte that is transposed; of 16-bit elements, which have no other fast kernel,
each of them pays for one."""


def _worth(images: frozenset[str], weights: frozenset[str], graph: Graph, node: Node) -> int:
    if not isinstance(node.op, Conv):
        return 0
    x, w = (graph.types[name].dtype for name in node.inputs[:2])
    if x not in images or w not in weights:
        return 0
    return graph.macs(node) // (1 if x == WIDE else MACS_PER_BYTE)


OF_INTEGERS, OF_FLOATS = partial(_worth, ELEMENTS, NARROW), partial(_worth, FLOAT, FLOAT)
LAST = ChannelPosition(channels_last=True, worth=OF_INTEGERS, keeps=OF_FLOATS)
SECOND = ChannelPosition(channels_last=False, worth=OF_FLOATS, keeps=OF_INTEGERS)
LAYOUTS = (
    Pass("channels last of integers", partial(with_layout, LAST), ensures=partial(all_worth_it, LAST)),
    Pass("channels second of floats", partial(with_layout, SECOND), ensures=partial(all_worth_it, SECOND)),
)


def is_flat(op: VectorConv) -> bool:
    """One tap on neighbouring pixels: they are multiplied where they are."""
    return math.prod(op.kernel) == 1 and set(op.conv.strides) == {1} and not any(op.conv.padding)


def window_bytes(op: VectorConv, types: Types) -> int:
    """Of one pixel, as whole vectors."""
    taps = math.prod(op.kernel) * types["X"].shape[-1] // op.conv.groups
    return -(-taps // op.vector) * VECTOR


def strip_pixels(op: VectorConv, types: Types) -> int:
    return 0 if is_flat(op) else max(1, min(STRIP_PIXELS, STRIP_BYTES // window_bytes(op, types)))


def conv_params(op: Op, types: Types) -> Params:
    return {**params_of(op, types), "strip": strip_pixels(instance(op, VectorConv), types)}


def conv_scratch(op: Op, types: Types) -> int:
    """Windows, and what is written behind the last one."""
    conv = instance(op, VectorConv)
    return 0 if is_flat(conv) else strip_pixels(conv, types) * window_bytes(conv, types) + VECTOR


def nothing(op: Op, types: Types) -> int:
    """The function has the argument all the same: rows are multiplied where they are."""
    return 0


def depthwise_scratch(op: Op, types: Types) -> int:
    """Where the taps are, inside and at a border, and a row of zeros."""
    found = instance(op, VectorDepthwise)
    taps = math.prod(found.kernel)
    return 4 * 2 * (taps + taps % 2) + -(-found.filters // found.vector) * VECTOR


def panel_columns(op: Op, types: Types) -> int:
    """Of the second operand, in whole blocks."""
    fields = params_of(op, types)
    columns, inner = cast(int, fields["columns"]), cast(int, fields["inner"])
    room = PANEL_BYTES // max(-(-inner // VECTOR) * VECTOR, 1)
    return max(FILTERS, min(-(-columns // FILTERS), room // FILTERS) * FILTERS)


def product_params(op: Op, types: Types) -> Params:
    return {"product": params_of(op, types), "columns": panel_columns(op, types)}


def product_scratch(op: Op, types: Types) -> int:
    """Starts of totals, a row, and the panel."""
    vectors, columns = -(-cast(int, params_of(op, types)["inner"]) // VECTOR), panel_columns(op, types)
    return 4 * columns + VECTOR * vectors * (1 + columns)


def product_unsupported(op: Op, types: Types) -> str | None:
    """Columns are laid out anew, which some rows pay for."""
    fields, requant = params_of(op, types), cast(MatMul, op).requant
    if cast(int, fields["rows"]) < FEWEST_ROWS:
        return f"it takes {FEWEST_ROWS} rows or more"
    if fields["y_column"] != 1 or fields["c_column"] not in (0, 1):
        return "results of a row lie side by side"
    is_twice = requant is not None and requant.has_exponents and requant.rounding != Rounding.SINGLE
    if requant is None or (is_twice and requant.dtype in SHORT_RESULTS):
        return None
    return all_fit(op, types) if requant.dtype in SHORT_RESULTS else "results have 16 bits at the most"


SIGNATURE = "X W:int8 B:int32 mul:int32 add:int32 -> Y"
TYPES = {"X": ELEMENTS, "Y": TOTALS}

KERNELS = (
    Kernel(
        MatMul, "matmul_mve.c", INTEGER_MATMUL, NARROW_MATMUL, product_params, product_scratch, product_unsupported,
        header="matmul_mve.h",
    ),
    Kernel(
        VectorConv, "conv_mve.c", SIGNATURE, TYPES, conv_params, conv_scratch, header="conv_mve.h",
    ),
    Kernel(VectorProduct, "conv_mve.c", SIGNATURE, TYPES, scratch=nothing, header="conv_mve.h"),
    Kernel(VectorDepthwise, "depthwise_mve.c", SIGNATURE, TYPES, scratch=depthwise_scratch, header="conv_mve.h"),
)  # fmt: skip
