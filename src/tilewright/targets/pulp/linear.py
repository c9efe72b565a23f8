"""Kernels of sums of products."""

from __future__ import annotations

import math
from functools import partial
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.ir.rounding import NOT_AWAY
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import Windowed
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.relu import Relu
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.pulp.patches import convolutions
from tilewright.targets.pulp.sizes import by_cores, in_c
from tilewright.targets.pulp.small_products import kernels as small_products

BYTE_OR_TOTAL = frozenset({"int8", "uint8", "int32"})
PRODUCTS = BYTE_OR_TOTAL | {"int16"}


# ---- matrix products --------------------------------------------------------------------------------------------


def matvec_unsupported(op: Op, types: Types) -> str | None:
    """Few rows, everything contiguous along the sum, nothing that differs from row to row."""
    p = cast("dict[str, int]", params_of(op, types))
    if p["rows"] > 3:
        return f"{p['rows']} rows; at most 3 are supported"
    if p["inner"] < 4 or p["columns"] < 4 or p["a_column"] != 1 or p["b_row"] != 1 or p["b_column"] != p["inner"]:
        return "its operands do not lie along the sum, or are too small"
    if p["y_column"] != 1 or p["c_row"] or p["mul_row"] or p["add_row"] or p["b_zero"]:
        return "its result is not contiguous, differs from row to row, or b has a zero point"
    return wide_result_is_plain(op, types)


def wide_result_is_plain(op: Op, types: Types) -> str | None:
    """Results of more than eight bits are totals."""
    wide = types["Y"].dtype == "int32" and cast(MatMul, op).requant is not None
    return "it is requantised to int32" if wide else None


# ---- convolutions -----------------------------------------------------------------------------------------------


def filter_length(op: Op, types: Types) -> int:
    return types["W"].elements // max(types["W"].shape[0], 1)


def conv_dots_params(op: Op, types: Types) -> Params:
    known = params_of(op, types)
    return {**known, **{name: in_c(f"tw_conv_dots_{name}")(known, types) for name in ("chunk", "strips", "padded")}}


def conv_dots_unsupported(op: Op, types: Types) -> str | None:
    conv = cast(Conv, op)
    if not conv.channels_last:
        return "it is not channels last"
    if types["Y"].dtype == "int32" and conv.requant is not None:
        return "it is requantised to int32"
    return "each group has one channel and one filter" if depthwise_unsupported(op, types) is None else None


# ---- depthwise convolutions -------------------------------------------------------------------------------------


def depthwise_params(op: Op, types: Types, cores: int) -> Params:
    known = params_of(op, types)
    return {**known, "chunk": in_c("tw_depthwise_chunk", cores)(known, types)}


def depthwise_unsupported(op: Op, types: Types) -> str | None:
    conv = cast(Conv, op)
    if not conv.channels_last:
        return "it is not channels last"
    if filter_length(op, types) != math.prod(conv.spatial(types["W"].shape)) or types["W"].shape[0] != conv.groups:
        return "not every group has one channel and one filter"
    if conv.groups < 4:
        return f"{conv.groups} channels; at least 4 are needed"
    if conv.dilations[-1] != 1 or conv.w_zero:
        return "it is dilated along a row, or weights have a zero point"
    wide = types["Y"].dtype == "int32" and conv.requant is not None
    return "it is requantised to int32" if wide else None


def windows_unsupported(op: Op, types: Types) -> str | None:
    """Of what `depthwise_dots` is not quick for."""
    height, width = (1, *cast(Conv, op).spatial(types["W"].shape))[-2:]
    if width > 8:
        return f"{width} taps in a row; at most 8 are quick"
    if height == 3 and width <= 4 and types["Y"].dtype in NARROW:
        return "three rows of at most four taps have a quicker kernel"
    if cast(Conv, op).requant is None:
        return "it is not requantised"
    return depthwise_unsupported(op, types)


def channels_second(op: Op, types: Types) -> str | None:
    return None if cast(Windowed, op).channels_last else "it is not channels last"


def float_depthwise_unsupported(op: Op, types: Types) -> str | None:
    groups = cast(Conv, op).groups
    if groups < 2 or types["W"].shape[0] != groups or types["W"].shape[-1] != 1:
        return "not every group has one channel and one filter"
    return channels_second(op, types)


def float_conv_unsupported(op: Op, types: Types) -> str | None:
    groups = cast(Conv, op).groups
    if groups > 1 and types["W"].shape[0] // groups < 4:
        return "groups have fewer than four filters"
    return channels_second(op, types)


INTEGER_CONV = "X W B:int32 mul:int32 add:int32 -> Y"
BYTE_CONV = {"X": NARROW, "W": NARROW, "Y": BYTE_OR_TOTAL}


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            Conv, "depthwise_windows.c", INTEGER_CONV, {"X": NARROW, "W": NARROW, "Y": NARROW | {"int16"}},
            partial(depthwise_params, cores=cores), by_cores("tw_depthwise_windows_scratch", cores),
            windows_unsupported, cooperative=True, unsplit_loops=frozenset({"r", "s"}), multiples={"g": 4},
            min_tile={"g": 4}, work=in_c.work("tw_depthwise_windows_work", cores), header="conv.h",
        ),
        Kernel(
            Conv, "depthwise_dots.c", INTEGER_CONV, BYTE_CONV, partial(depthwise_params, cores=cores),
            by_cores("tw_depthwise_dots_scratch", cores), depthwise_unsupported, cooperative=True,
            unsplit_loops=frozenset({"r", "s"}), multiples={"g": 4}, min_tile={"g": 4},
            work=in_c.work("tw_depthwise_dots_work", cores), header="conv.h",
        ),
        Kernel(
            Conv, "conv_dots.c", INTEGER_CONV, BYTE_CONV, conv_dots_params, by_cores("tw_conv_dots_scratch", cores),
            conv_dots_unsupported, cooperative=True, unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": 4},
            min_tile={"f": 4}, work=in_c.work("tw_conv_dots_work"), header="conv.h",
        ),
        *small_products(cores),
        Kernel(
            MatMul, "matvec_dots.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": PRODUCTS},
            unsupported_reason=matvec_unsupported, roundings=NOT_AWAY, cooperative=True, unsplit_loops=frozenset({"k"}),
            multiples={"n": 4}, min_tile={"n": 4}, work=in_c.work("tw_matvec_dots_work"), header="matmul.h",
        ),
        Kernel(
            MatMul, "matmul_dots.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": PRODUCTS},
            scratch=in_c("tw_matmul_dots_scratch"), unsupported_reason=wide_result_is_plain, roundings=NOT_AWAY,
            cooperative=True, unsplit_loops=frozenset({"k"}), multiples={"m": 4, "n": 4},
            work=in_c.work("tw_matmul_dots_work"), header="matmul.h",
        ),
        Kernel(
            MaxPool, "maxpool_bytes.c", "X -> Y", {"X": NARROW, "Y": NARROW}, unsupported_reason=channels_second,
            cooperative=True, unsplit_loops=frozenset({"r", "s"}), header="pool.h",
            work=in_c.work("tw_maxpool_bytes_work"),
        ),
        Kernel(
            MatMul, "matmul_blocks_f32.c", "A:float32 B:float32 C:float32 -> Y:float32", {}, cooperative=True,
            unsplit_loops=frozenset({"k"}), multiples={"m": 4, "n": 4}, work=in_c.work("tw_matmul_blocks_work"),
            header="matmul.h", activations=(Relu,),
        ),
        Kernel(
            Conv, "depthwise_rows_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {},
            scratch=by_cores("tw_depthwise_rows_f32_scratch", cores), unsupported_reason=float_depthwise_unsupported,
            cooperative=True, unsplit_loops=frozenset({"r", "s"}), header="conv.h",
            work=in_c.work("tw_depthwise_rows_f32_work"), activations=(Relu,),
        ),
        *convolutions(cores),
        Kernel(
            Conv, "conv_blocks_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {},
            scratch=by_cores("tw_conv_blocks_scratch", cores), unsupported_reason=float_conv_unsupported,
            cooperative=True, unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": 4},
            work=in_c.work("tw_conv_blocks_work"), header="conv.h", activations=(Relu,),
        ),
    )  # fmt: skip
