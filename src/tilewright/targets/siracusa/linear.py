"""Kernels of sums of products."""

from __future__ import annotations

import math
from typing import cast

from tilewright.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.matmul import MatMul
from tilewright.target import Kernel, Types

BYTE_OR_TOTAL = frozenset({"int8", "uint8", "int32"})


# ---- matrix products --------------------------------------------------------------------------------------------


def packed_bytes(op: Op, types: Types) -> int:
    """Copies of the operands that do not lie row by row along the sum; a_is_packed() and b_is_packed() in C."""
    p = cast("dict[str, int]", op.params(types))
    rows, inner, columns = p["rows"], p["inner"], p["columns"]
    pack_a = inner < 4 or p["a_column"] != 1 or (rows > 1 and p["a_row"] != inner)
    pack_b = inner < 4 or p["b_row"] != 1 or (columns > 1 and p["b_column"] != inner)
    batches = math.prod(cast("list[int]", op.params(types)["size"]))
    return batches * max(inner, 4) * (pack_a * rows + pack_b * columns)


def wide_result_is_plain(op: Op, types: Types) -> str | None:
    """Results of more than eight bits are totals."""
    wide = types["Y"].dtype == "int32" and cast(MatMul, op).requant is not None
    return "it is requantised to int32" if wide else None


KERNELS = (
    Kernel(
        MatMul, "matmul_dots.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": BYTE_OR_TOTAL},
        scratch=packed_bytes, objection=wide_result_is_plain, cooperative=True, whole=frozenset({"k"}),
        multiples={"m": 4, "n": 4}, stack=768, header="matmul.h",
    ),
)  # fmt: skip
