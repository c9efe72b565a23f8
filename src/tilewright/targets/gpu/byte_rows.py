"""One row of bytes with a matrix, as the last layers of networks are: without tiles, of which one row would be used."""

from __future__ import annotations

import math
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.matmul import MatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import TOTALS
from tilewright.targets.gpu.few_rows import no_plain_matrix
from tilewright.targets.gpu.plain import MULTIPLIED

PIECE = 16
"""TW_PIECE in C: bytes that are read at once."""


def no_row(op: Op, types: Types) -> str | None:
    """Zero points of a row are part of C, where weights are constants."""
    if reason := no_plain_matrix(op, types):
        return reason
    fields = params_of(op, types)
    inner, step = (cast(int, fields[name]) for name in ("inner", "b_column"))
    if fields["rows"] != 1 or math.gcd(inner, step) % PIECE:
        return f"it takes one row, and columns of whole {PIECE} bytes"
    return "it takes no zero points" if fields["a_zero"] or fields["b_zero"] else None


KERNELS = (
    Kernel(
        MatMul, "gpu_matmul_row.c", MULTIPLIED,
        {"A": NARROW, "B": frozenset({"int8"}), "C": frozenset({"int32"}), "Y": TOTALS},
        unsupported_reason=no_row, header="matmul.h",
    ),
)  # fmt: skip
