"""Kernels of sums of products, and of pools."""

from __future__ import annotations

import math
from typing import cast

from tilewright.op import Op, Params
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import pair, reach
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.target import Kernel, Types
from tilewright.types import Shape

FLOAT = frozenset({"float32"})
INTEGERS = NUMBERS - FLOAT
SUMMED = INTEGERS - {"uint32", "int64", "uint64"}
"""Integers whose products are summed in int32."""
TOTALS = frozenset({"int8", "uint8", "int16", "uint16", "int32"})
"""What an int32 total may become."""

PIXELS = 32
"""TW_PIXELS and TW_RUN in C: results that are computed at a time."""
PANEL_ROWS = {"float32": 256, "int8": 1024, "uint8": 1024}
"""Rows of the panel that convolutions work on at a time; with PIXELS elements each they fit a level-1 cache."""
BAND_ELEMENTS = 4096
"""Input elements that depthwise convolutions copy at a time."""


def align(size: int) -> int:
    return -(-size // 16) * 16


# ---- convolutions -----------------------------------------------------------------------------------------------


def chunk_channels(types: Types) -> int:
    channels, *kernel = types["W"].shape[1:]
    return max(1, min(channels, PANEL_ROWS[types["X"].dtype] // max(math.prod(kernel), 1)))


def conv_params(op: Op, types: Types) -> Params:
    return {**op.params(types), "chunk": chunk_channels(types)}


def conv_f32_scratch(op: Op, types: Types) -> int:
    return 4 * PIXELS * chunk_channels(types) * math.prod(types["W"].shape[2:])


def conv_int8_scratch(op: Op, types: Types) -> int:
    """A start for each filter, the panel, and totals where one chunk of channels does not complete them."""
    filters, channels, *kernel = types["W"].shape
    per_group = filters // cast(Conv, op).groups
    chunk = chunk_channels(types)
    totals = 4 * PIXELS * per_group if chunk < channels else 0
    return 4 * per_group + PIXELS * chunk * math.prod(kernel) + totals


def is_depthwise(op: Op, types: Types) -> bool:
    return cast(Conv, op).groups > 1 and types["W"].shape[1] == 1


def not_depthwise(op: Op, types: Types) -> str | None:
    return None if is_depthwise(op, types) else "each group has several input channels"


def band(op: Op, types: Types) -> tuple[int, int, int]:
    """Output rows at a time, input elements that they read, and elements from one input row to the next."""
    conv = cast(Conv, op)
    (out_h, out_w), (kernel_h, kernel_w) = pair(types["Y"].shape[2:]), pair(types["W"].shape[2:])
    (stride_h, stride_w), (dilation_h, dilation_w) = pair(conv.strides), pair(conv.dilations)
    pitch = (out_w - 1) * stride_w + reach(kernel_w, dilation_w)
    extra = reach(kernel_h, dilation_h)
    rows = max(1, min(out_h, (BAND_ELEMENTS // max(pitch, 1) - extra) // stride_h + 1))
    return rows, ((rows - 1) * stride_h + extra) * pitch, pitch


def depthwise_params(op: Op, types: Types) -> Params:
    return {**op.params(types), "chunk": band(op, types)[0]}


def depthwise_scratch(op: Op, types: Types) -> int:
    """The band with elements to spare, and the totals of all its rows or (with strides) of one row."""
    rows, elements, pitch = band(op, types)
    strides = pair(cast(Conv, op).strides)
    totals = rows * pitch if strides == (1, 1) else types["Y"].shape[-1]
    size = 4 if types["X"].dtype == "float32" else 1
    return align(size * (elements + PIXELS * strides[1])) + 4 * (totals + PIXELS)


def transposed_scratch(op: Op, types: Types) -> int:
    return 4 * types["Y"].shape[-1]


# ---- matrix products --------------------------------------------------------------------------------------------


def stored_by_rows(op: Op, types: Types) -> str | None:
    return "B is stored column by column" if _transposed(op, types) else None


def stored_by_columns(op: Op, types: Types) -> str | None:
    if not _transposed(op, types):
        return "B is stored row by row"
    return "A is stored column by column" if cast(MatMul, op).trans_a and len(types["A"].shape) > 1 else None


def _transposed(op: Op, types: Types) -> bool:
    """A vector is stored either way; as a column it is contiguous."""
    return cast(MatMul, op).trans_b or types["B"].shape[-1] == 1 or len(types["B"].shape) == 1


def widened_row(op: Op, types: Types) -> int:
    shape: Shape = types["A"].shape
    return 2 * (shape[-2] if cast(MatMul, op).trans_a and len(shape) > 1 else shape[-1])


FLOAT_CONV = "X:float32 W:float32 B:float32 -> Y:float32"
INTEGER_CONV = "X W B:int32 mul:int32 add:int32 -> Y"
FLOAT_MATMUL = "A:float32 B:float32 C:float32 -> Y:float32"
INTEGER_MATMUL = "A B C:int32 mul:int32 add:int32 -> Y"
NARROW_CONV = {"X": NARROW, "W": NARROW, "Y": TOTALS}
NARROW_MATMUL = {"A": NARROW, "B": NARROW, "Y": TOTALS}

KERNELS = (
    Kernel(
        Conv, "depthwise_f32.c", FLOAT_CONV, {}, depthwise_params, depthwise_scratch, not_depthwise, header="conv.h"
    ),
    Kernel(
        Conv, "depthwise_int8.c", INTEGER_CONV, NARROW_CONV, depthwise_params, depthwise_scratch, not_depthwise,
        header="conv.h",
    ),
    Kernel(Conv, "conv_f32.c", FLOAT_CONV, {}, conv_params, conv_f32_scratch, header="conv.h"),
    Kernel(Conv, "conv_int8.c", INTEGER_CONV, NARROW_CONV, conv_params, conv_int8_scratch, header="conv.h"),
    Kernel(Conv, "conv_plain.c", INTEGER_CONV, {"X": SUMMED, "W": SUMMED, "Y": TOTALS}, header="conv.h"),
    Kernel(
        ConvTranspose, "convtranspose.c", "X W B mul:int32 add:int32 -> Y",
        {"X": FLOAT, "W": FLOAT, "B": FLOAT, "Y": FLOAT}, scratch=transposed_scratch, header="conv.h",
    ),
    Kernel(
        ConvTranspose, "convtranspose.c", "X W B mul:int32 add:int32 -> Y",
        {"X": SUMMED, "W": SUMMED, "B": frozenset({"int32"}), "Y": TOTALS}, scratch=transposed_scratch,
        header="conv.h",
    ),
    Kernel(MatMul, "matmul_f32.c", FLOAT_MATMUL, {}, objection=stored_by_rows, header="matmul.h"),
    Kernel(MatMul, "matmul_dot_f32.c", FLOAT_MATMUL, {}, objection=stored_by_columns, header="matmul.h"),
    Kernel(MatMul, "matmul_int8.c", INTEGER_MATMUL, NARROW_MATMUL, objection=stored_by_rows, header="matmul.h"),
    Kernel(
        MatMul, "matmul_dot_int8.c", INTEGER_MATMUL, NARROW_MATMUL, scratch=widened_row, objection=stored_by_columns,
        header="matmul.h",
    ),
    Kernel(
        MatMul, "matmul_plain.c", "A B C mul:int32 add:int32 -> Y",
        {"A": NUMBERS, "B": NUMBERS, "C": NUMBERS, "Y": NUMBERS}, header="matmul.h",
    ),
    Kernel(MaxPool, "maxpool.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, header="pool.h"),
    Kernel(AveragePool, "averagepool.c", "X:float32 -> Y:float32", {}, header="pool.h"),
    Kernel(GlobalMaxPool, "globalmaxpool.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, header="global_pool.h"),
    Kernel(GlobalAveragePool, "globalaveragepool.c", "X:float32 -> Y:float32", {}, header="global_pool.h"),
    Kernel(
        BatchNormalization, "batchnormalization.c",
        "X:float32 scale:float32 B:float32 mean:float32 var:float32 -> Y:float32", {},
    ),
)  # fmt: skip
