"""Kernels of sums of products, and of pools."""

from __future__ import annotations

import math
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import Windowed, pair, reach
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.bestblock import BestBlock
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.matmul import MatMul
from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.packedconv import PackedConv
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.sizes import in_c

FLOAT = frozenset({"float32"})
INTEGERS = NUMBERS - FLOAT
SUMMED = INTEGERS - {"uint32", "int64", "uint64"}
"""Integers whose products are summed in int32."""
TOTALS = frozenset({"int8", "uint8", "int16", "uint16", "int32"})
"""What an int32 total may become."""

PIXELS = 32
"""TW_PIXELS in C: results that are computed at a time."""
PANEL_ROWS = {"float32": 256, "int8": 1024, "uint8": 1024}
"""Rows of the panel that kernels work on at a time; with PIXELS elements each they fit a level-1 cache."""
BAND_ELEMENTS = 4096
"""Input elements that depthwise convolutions copy at a time; of other convolutions twice as many."""


# ---- layouts ----------------------------------------------------------------------------------------------------


def channels_second(op: Op, types: Types) -> str | None:
    return "it takes channels first (NCHW)" if cast(Windowed, op).channels_last else None


def channels_last(op: Op, types: Types) -> str | None:
    return None if cast(Windowed, op).channels_last else "it takes channels last (NHWC)"


# ---- convolutions -----------------------------------------------------------------------------------------------


def band(op: Op, types: Types, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of the input that some rows and columns of the result read."""
    conv = cast(Conv, op)
    strides, dilations, kernel = pair(conv.strides), pair(conv.dilations), pair(types["W"].shape[2:])
    height, width = (
        (size - 1) * stride + reach(taps, dilation)
        for size, stride, taps, dilation in zip((rows, columns), strides, kernel, dilations, strict=True)
    )
    return height, width


def is_flat(op: Op, types: Types) -> bool:
    """One tap, no stride, no padding: all rows of the image are as good as one."""
    conv = cast(Conv, op)
    return math.prod(types["W"].shape[2:]) == 1 and set(conv.strides) == {1} and not any(conv.padding)


def is_pointwise(op: Op, types: Types) -> bool:
    """One tap on neighbouring pixels: a row of the band is a row of the panel, and as long."""
    return math.prod(types["W"].shape[2:]) == 1 and cast(Conv, op).strides[-1] == 1


def block_band(op: Op, types: Types) -> int:
    """Elements per channel of the largest band that a block of pixels reads."""
    height, width = pair(types["Y"].shape[2:])
    if is_flat(op, types):
        return PIXELS
    one_row = PIXELS if is_pointwise(op, types) else math.prod(band(op, types, 1, min(width, PIXELS)))
    rows = min(height, -(-(PIXELS - 1) // max(width, 1)) + 1)
    return max(one_row, math.prod(band(op, types, rows, width)) if rows > 1 else 0)


def chunk_channels(op: Op, types: Types) -> int:
    channels, *kernel = types["W"].shape[1:]
    rows = PANEL_ROWS[types["X"].dtype] // max(math.prod(kernel), 1)
    return max(1, min(channels, rows, 2 * BAND_ELEMENTS // block_band(op, types)))


def conv_params(op: Op, types: Types) -> Params:
    fields: Params = {**params_of(op, types), "chunk": chunk_channels(op, types)}
    if is_flat(op, types):
        pixels = math.prod(types["Y"].shape[2:])
        fields |= {"in_h": 1, "in_w": pixels, "out_h": 1, "out_w": pixels}
    return fields


def not_depthwise(op: Op, types: Types) -> str | None:
    if cast(Conv, op).channels_last:
        return channels_second(op, types)
    depthwise = cast(Conv, op).groups > 1 and types["W"].shape[1] == 1
    return None if depthwise else "each group has several input channels"


def depthwise_rows(op: Op, types: Types) -> int:
    """Output rows at a time."""
    height, width = pair(types["Y"].shape[2:])
    first, pitch = band(op, types, 1, width)
    return max(1, min(height, (BAND_ELEMENTS // pitch - first) // pair(cast(Conv, op).strides)[0] + 1))


def depthwise_params(op: Op, types: Types) -> Params:
    return {**params_of(op, types), "chunk": depthwise_rows(op, types)}


def in_place_of_planes(rows: int, types: Types) -> frozenset[str]:
    """Of a depthwise convolution that copies what so many rows of results need before it writes them: the result may
    take the place of X where that are all of a plane, and each plane makes one of the same size."""
    whole = rows >= pair(types["Y"].shape[2:])[0] and types["W"].shape[0] == types["X"].shape[1]
    return frozenset({"X"} if whole and types["X"] == types["Y"] else ())


def depthwise_in_place(op: Op, types: Types) -> frozenset[str]:
    return in_place_of_planes(depthwise_rows(op, types), types)


# ---- matrix products --------------------------------------------------------------------------------------------


def for_blocks(op: Op, types: Types) -> str | None:
    if is_dot(op, types):
        return "B is stored column by column and few rows meet it"
    return scattered(op, types)


def scattered(op: Op, types: Types) -> str | None:
    fields = params_of(op, types)
    return "columns of Y are no neighbours" if fields["y_column"] != 1 and fields["columns"] != 1 else None


def for_dots(op: Op, types: Types) -> str | None:
    if not is_dot(op, types):
        return "B is stored row by row, or many rows meet it"
    if params_of(op, types)["a_column"] != 1:
        return "A is stored column by column"
    return scattered(op, types) if types["Y"].dtype != "float32" else None


def is_dot(op: Op, types: Types) -> bool:
    """Whether products of two contiguous rows are better than blocks, for which B is copied row by row."""
    fields = params_of(op, types)
    rows, inner, columns = (cast(int, fields[name]) for name in ("rows", "inner", "columns"))
    contiguous = fields["b_row"] == 1 and (columns == 1 or fields["b_column"] != 1)
    return contiguous and (columns == 1 or rows < 8 or inner > PANEL_ROWS[types["A"].dtype])


FLOAT_CONV = "X:float32 W:float32 B:float32 -> Y:float32"
INTEGER_CONV = "X W B:int32 mul:int32 add:int32 -> Y"
FLOAT_MATMUL = "A:float32 B:float32 C:float32 -> Y:float32"
INTEGER_MATMUL = "A B C:int32 mul:int32 add:int32 -> Y"
NARROW_CONV = {"X": NARROW, "W": NARROW, "Y": TOTALS}
NARROW_MATMUL = {"A": NARROW, "B": NARROW, "Y": TOTALS}


def packed_channels_second(op: Op, types: Types) -> str | None:
    return channels_second(cast(PackedConv, op).conv, types)


def short_weights(dtype: str) -> tuple[Kernel, ...]:
    """Kernels of floats whose weights are stored in 16 bits."""
    conv, matmul = FLOAT_CONV.replace("W:float32", f"W:{dtype}"), FLOAT_MATMUL.replace("B:float32", f"B:{dtype}")
    return (
        Kernel(
            Conv, f"conv_{dtype}.c", conv, {}, conv_params, in_c("tw_conv_f32_scratch"), channels_second,
            header="conv.h", activations=ACTIVATIONS,
        ),
        Kernel(
            MatMul, f"matmul_dot_{dtype}.c", matmul, {}, unsupported_reason=for_dots, header="matmul.h",
            activations=ACTIVATIONS,
        ),
        Kernel(
            MatMul, f"matmul_{dtype}.c", matmul, {}, scratch=in_c("tw_matmul_half_scratch"),
            unsupported_reason=scattered, header="matmul.h", activations=ACTIVATIONS,
        ),
    )  # fmt: skip


BEST = (
    Kernel(
        ArgMaxMatMul, "argmaxmatmul_int8.c", "A B C:int32 mul:int32 add:int32 -> best place:int32",
        {"A": NARROW, "B": NARROW, "best": TOTALS}, header="argmaxmatmul.h",
    ),
    Kernel(
        ArgMaxMatMul, "argmaxmatmul_f32.c", "A:float32 B:float32 C:float32 -> best:float32 place:int32", {},
        header="argmaxmatmul.h",
    ),
    Kernel(BestBlock, "bestblock.c", "best place:int32 -> Y:int64", {"best": TOTALS | FLOAT}),
)  # fmt: skip

KERNELS = (
    *BEST,
    Kernel(
        Conv, "depthwise_f32.c", FLOAT_CONV, {}, depthwise_params, in_c("tw_depthwise_scratch"), not_depthwise,
        header="conv.h", activations=ACTIVATIONS, in_place=depthwise_in_place,
    ),
    Kernel(
        Conv, "depthwise_int8.c", INTEGER_CONV, NARROW_CONV, depthwise_params, in_c("tw_depthwise_scratch"),
        not_depthwise, header="conv.h", in_place=depthwise_in_place,
    ),
    Kernel(
        Conv, "conv_f32.c", FLOAT_CONV, {}, conv_params, in_c("tw_conv_f32_scratch"), channels_second, header="conv.h",
        activations=ACTIVATIONS,
    ),
    Kernel(
        Conv, "conv_int8.c", INTEGER_CONV, NARROW_CONV, conv_params, in_c("tw_conv_int8_scratch"), channels_second,
        header="conv.h",
    ),
    Kernel(
        Conv, "conv_plain.c", INTEGER_CONV, {"X": SUMMED, "W": SUMMED, "Y": TOTALS}, unsupported_reason=channels_second,
        header="conv.h",
    ),
    Kernel(
        Conv, "conv_channels_last.c", "X W B mul:int32 add:int32 -> Y", dict.fromkeys("XWBY", FLOAT),
        scratch=in_c("tw_window_scratch"), unsupported_reason=channels_last, header="conv.h",
        activations=ACTIVATIONS,
    ),
    Kernel(
        Conv, "conv_channels_last.c", "X W B mul:int32 add:int32 -> Y",
        {"X": SUMMED, "W": SUMMED, "B": frozenset({"int32"}), "Y": TOTALS}, scratch=in_c("tw_window_scratch"),
        unsupported_reason=channels_last, header="conv.h",
    ),
    Kernel(
        ConvTranspose, "convtranspose.c", "X W B mul:int32 add:int32 -> Y",
        {"X": FLOAT, "W": FLOAT, "B": FLOAT, "Y": FLOAT}, scratch=in_c("tw_convtranspose_scratch"), header="conv.h",
        activations=ACTIVATIONS,
    ),
    Kernel(
        ConvTranspose, "convtranspose.c", "X W B mul:int32 add:int32 -> Y",
        {"X": SUMMED, "W": SUMMED, "B": frozenset({"int32"}), "Y": TOTALS}, scratch=in_c("tw_convtranspose_scratch"),
        header="conv.h",
    ),
    Kernel(
        MatMulNBits, "matmul_nbits.c", "A:float32 B:uint8 scales:float32 zeros:uint8 -> Y:float32", {},
        header="matmul_nbits.h",
    ),
    Kernel(
        PackedMatMul, "matmul_packed.c", "A B:uint8 C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "Y": TOTALS},
        scratch=in_c("tw_matmul_packed_scratch"), header="matmul_packed.h", work=in_c.work("tw_matmul_packed_work"),
    ),
    Kernel(
        PackedConv, "conv_packed.c", "X W:uint8 B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "Y": TOTALS},
        scratch=in_c("tw_conv_packed_scratch"), unsupported_reason=packed_channels_second, header="conv_packed.h",
    ),
    *short_weights("float16"),
    *short_weights("bfloat16"),
    Kernel(
        MatMul, "matmul_f32.c", FLOAT_MATMUL, {}, scratch=in_c("tw_matmul_f32_scratch"), unsupported_reason=for_blocks,
        header="matmul.h", activations=ACTIVATIONS,
    ),
    Kernel(
        MatMul, "matmul_dot_f32.c", FLOAT_MATMUL, {}, unsupported_reason=for_dots, header="matmul.h",
        activations=ACTIVATIONS,
    ),
    Kernel(
        MatMul, "matmul_int8.c", INTEGER_MATMUL, NARROW_MATMUL, scratch=in_c("tw_matmul_int8_scratch"),
        unsupported_reason=for_blocks, header="matmul.h",
    ),
    Kernel(
        MatMul, "matmul_dot_int8.c", INTEGER_MATMUL, NARROW_MATMUL, scratch=in_c("tw_matmul_dot_scratch"),
        unsupported_reason=for_dots, header="matmul.h",
    ),
    Kernel(
        MatMul, "matmul_plain.c", "A B C mul:int32 add:int32 -> Y",
        {"A": NUMBERS, "B": NUMBERS, "C": NUMBERS, "Y": NUMBERS}, header="matmul.h", activations=ACTIVATIONS,
    ),
    Kernel(
        MaxPool, "maxpool.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, unsupported_reason=channels_second,
        header="pool.h",
    ),
    Kernel(
        MaxPool, "maxpool_channels_last.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, unsupported_reason=channels_last,
        header="pool.h",
    ),
    Kernel(
        AveragePool, "averagepool.c", "X:float32 -> Y:float32", {}, unsupported_reason=channels_second, header="pool.h",
    ),
    Kernel(
        AveragePool, "averagepool_channels_last.c", "X:float32 -> Y:float32", {}, unsupported_reason=channels_last,
        header="pool.h",
    ),
    Kernel(GlobalMaxPool, "globalmaxpool.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, header="global_pool.h"),
    Kernel(GlobalAveragePool, "globalaveragepool.c", "X:float32 -> Y:float32", {}, header="global_pool.h"),
    Kernel(
        BatchNormalization, "batchnormalization.c",
        "X:float32 scale:float32 B:float32 mean:float32 var:float32 -> Y:float32", {},
    ),
)  # fmt: skip
