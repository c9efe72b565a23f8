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
from tilewright.targets.cortex_m import vector_samples
from tilewright.targets.cortex_m.sizes import vectors_in_c
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
WINDOW_BYTES = vectors_in_c("tw_window_bytes")
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


def strip_pixels(op: VectorConv, types: Types) -> int:
    return 0 if is_flat(op) else max(1, min(STRIP_PIXELS, STRIP_BYTES // WINDOW_BYTES(params_of(op, types), types)))


def conv_params(op: Op, types: Types) -> Params:
    return {**params_of(op, types), "strip": strip_pixels(instance(op, VectorConv), types)}


def panel_columns(op: Op, types: Types) -> int:
    """Of the second operand, in whole blocks."""
    fields = params_of(op, types)
    columns, inner = cast(int, fields["columns"]), cast(int, fields["inner"])
    room = PANEL_BYTES // max(-(-inner // VECTOR) * VECTOR, 1)
    return max(FILTERS, min(-(-columns // FILTERS), room // FILTERS) * FILTERS)


def product_params(op: Op, types: Types) -> Params:
    return {"product": params_of(op, types), "columns": panel_columns(op, types)}


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
CONV_SCRATCH, CONV_WORK = vectors_in_c("tw_conv_mve_scratch"), vectors_in_c.work("tw_conv_mve_work")

KERNELS = (
    Kernel(
        MatMul, "matmul_mve.c", INTEGER_MATMUL, NARROW_MATMUL, product_params,
        vectors_in_c("tw_matmul_mve_scratch"), product_unsupported,
        header="matmul_mve.h",
    ),
    Kernel(
        VectorConv, "conv_mve.c", SIGNATURE, TYPES, conv_params, CONV_SCRATCH, header="conv_mve.h", work=CONV_WORK,
        samples=vector_samples.conv_samples,
    ),
    Kernel(VectorProduct, "conv_mve.c", SIGNATURE, TYPES, scratch=CONV_SCRATCH, header="conv_mve.h", work=CONV_WORK),
    Kernel(
        VectorDepthwise, "depthwise_mve.c", SIGNATURE, TYPES, scratch=vectors_in_c("tw_depthwise_mve_scratch"),
        header="conv_mve.h", work=vectors_in_c.work("tw_depthwise_mve_work"), samples=vector_samples.depthwise_samples,
    ),
)  # fmt: skip
