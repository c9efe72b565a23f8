"""Kernels of sums of products, with streams and repetition."""

from __future__ import annotations

import math
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import TOTALS
from tilewright.targets.snitch import long_samples
from tilewright.targets.snitch.sizes import by_cores, in_c

LEAST = 4
"""Products of a sum, so that a stream of them is not read ahead into the row after the next; TW_LEAST in C."""


# ---- floats -----------------------------------------------------------------------------------------------------


def columns_unsupported(op: Op, types: Types) -> str | None:
    """Two columns are 8 bytes, which begin at a multiple of 8 in all rows of all matrices."""
    p = cast("dict[str, int]", params_of(op, types))
    apart = cast("dict[str, list[int]]", params_of(op, types))
    if p["b_column"] != 1 or p["y_column"] != 1 or ("C" in types and p["c_column"] != 1):
        return "columns of its operands or its result are not side by side"
    steps = [p["columns"], p["b_row"], p["y_row"], p["c_row"]]
    steps += [step for name in ("stride_b", "stride_c", "stride_y") for step in apart[name]]
    if any(step % 2 for step in steps):
        return "rows of its operands or its result begin between two multiples of 8 bytes"
    if p["inner"] < LEAST or (p["alpha"], p["beta"]) != (1.0, 1.0):
        return f"it scales its product or its summand, or sums fewer than {LEAST} products"
    return None


# ---- convolutions -----------------------------------------------------------------------------------------------


def conv_unsupported(op: Op, types: Types) -> str | None:
    if cast(Conv, op).channels_last:
        return "channels are last"
    inner = math.prod(types["W"].shape[1:])
    return None if inner >= LEAST else f"it sums fewer than {LEAST} products"


KERNELS = (
    Kernel(
        MatMul, "matmul_columns_f32.c", "A:float32 B:float32 C:float32 -> Y:float32", {},
        scratch=by_cores("tw_matmul_columns_scratch"), unsupported_reason=columns_unsupported, cooperative=True,
        unsplit_loops=frozenset({"k"}), multiples={"m": 8, "n": 16}, work=in_c.work("tw_matmul_columns_work"),
        header="matmul.h", activations=(Relu,),
    ),
    Kernel(
        MatMul, "matmul_strided_f32.c", "A:float32 B:float32 C:float32 -> Y:float32", {},
        scratch=by_cores("tw_matmul_strided_scratch"), cooperative=True, unsplit_loops=frozenset({"k"}),
        multiples={"m": 8, "n": 16}, work=in_c.work("tw_matmul_strided_work"), header="matmul.h", activations=(Relu,),
    ),
    Kernel(
        MatMul, "matmul_bytes.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": TOTALS},
        scratch=by_cores("tw_matmul_bytes_scratch"), cooperative=True, unsplit_loops=frozenset({"k"}),
        multiples={"m": 8, "n": 16}, work=in_c.work("tw_matmul_bytes_work"), header="matmul.h",
        samples=long_samples.product_samples,
    ),
    Kernel(
        Conv, "conv_bytes.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
        scratch=by_cores("tw_conv_bytes_scratch"), unsupported_reason=conv_unsupported, cooperative=True,
        unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": 16}, work=in_c.work("tw_conv_bytes_work"),
        header="conv.h", samples=long_samples.conv_samples,
    ),
    Kernel(
        Conv, "conv_streams_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {},
        scratch=by_cores("tw_conv_streams_scratch"), unsupported_reason=conv_unsupported, cooperative=True,
        unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": 16}, work=in_c.work("tw_conv_streams_work"),
        header="conv.h", activations=(Relu,),
    ),
)  # fmt: skip
