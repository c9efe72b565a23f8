"""Kernels of convolutions whose groups have one input channel each, with streams: two filters at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import pair, reach
from tilewright.ops.conv import Conv
from tilewright.ops.relu import Relu
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import TOTALS, not_depthwise
from tilewright.targets.snitch.linear import CORES, LARGEST_TOTAL, largest_product, results

ROOM = 4096
"""Bytes that a core has for its image and its sums, if a row does not take more."""
TABLES = 2 * 256 * 4


def read_size(conv: Conv, taps: tuple[int, int], rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of the padded image that some results read."""
    strides, dilations = pair(conv.strides), pair(conv.dilations)
    high, wide = (
        (size - 1) * stride + reach(tap, dilation)
        for size, stride, tap, dilation in zip((rows, columns), strides, taps, dilations, strict=True)
    )
    return high, wide


def taps_of(types: Types) -> tuple[int, int]:
    high, wide = pair(types["W"].shape[2:])
    return high, wide


def rows_bytes(op: Op, types: Types, rows: int) -> int:
    """Of two channels and two filters' sums of so many rows of results."""
    columns = types["Y"].shape[-1]
    high, wide = read_size(cast(Conv, op), taps_of(types), rows, columns)
    return 8 * (high * wide + rows * columns)


def rows_at_a_time(op: Op, types: Types) -> int:
    """As many as there is room for, and few enough for all cores to have some."""
    height, _ = pair(types["Y"].shape[2:])
    pairs = types["Y"].shape[0] * -(-types["Y"].shape[1] // 2)
    rows = -(-height // -(-CORES // max(pairs, 1)))
    while rows > 1 and rows_bytes(op, types, rows) > ROOM:
        rows -= 1
    return max(rows, 1)


def depthwise_params(op: Op, types: Types) -> Params:
    return {**params_of(op, types), "chunk": rows_at_a_time(op, types)}


def depthwise_bytes(op: Op, types: Types) -> int:
    own = rows_bytes(op, types, rows_at_a_time(op, types)) + 8 * math.prod(taps_of(types))
    return CORES * own + (TABLES if types["X"].dtype in NARROW else 0)


def large_sums(op: Op, types: Types) -> str | None:
    conv = cast(Conv, op)
    largest = largest_product(((types["X"].dtype, conv.x_zero), (types["W"].dtype, conv.w_zero)))
    taps = math.prod(taps_of(types))
    if taps * largest > LARGEST_TOTAL:
        return f"sums of {taps} products may be more than {LARGEST_TOTAL}"
    return not_depthwise(op, types)


def depthwise_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; pairs of filters with some rows, their groups of columns with a row, the taps on these; elements of the
    image that are copied, and results, by the way to them; of one core."""
    conv, taps = cast(Conv, op), (extents.get("r", 1), extents.get("s", 1))
    height, width = extents.get("y", 1), extents.get("x", 1)
    pairs = extents.get("n", 1) * -(-extents.get("g", 1) * extents.get("f", 1) // 2)
    rows = -(-height // -(-CORES // pairs))
    while rows > 1 and 8 * (math.prod(read_size(conv, taps, rows, width)) + rows * width) > ROOM:
        rows -= 1
    bands = -(-height // rows)
    own = -(-pairs * bands // cores)
    groups = float(own * rows * -(-width // 8))
    copied = 2.0 * own * math.prod(read_size(conv, taps, rows, width))
    return 1.0, float(own), groups, groups * math.prod(taps), copied, *results(conv.requant, 2.0 * own * rows * width)


KERNELS = (
    Kernel(
        Conv, "depthwise_bytes.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
        depthwise_params, depthwise_bytes, large_sums, cooperative=True, features=depthwise_features, header="conv.h",
    ),
    Kernel(
        Conv, "depthwise_streams_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {}, depthwise_params,
        depthwise_bytes, not_depthwise, cooperative=True, features=depthwise_features, header="conv.h",
        activations=(Relu,),
    ),
)  # fmt: skip
