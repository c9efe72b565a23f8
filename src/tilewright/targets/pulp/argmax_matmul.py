"""The likeliest word of each block of a vocabulary, all cores together: products that are compared and not stored."""

from __future__ import annotations

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.sizes import in_c

LEAST = 4
"""Bytes of a row that a dot product takes at once."""


def unsupported_reason(op: Op, types: Types) -> str | None:
    if instance(op, ArgMaxMatMul).requant is None:
        return "its accumulators are not requantised"
    length = types["B"].shape[1]
    return None if length >= LEAST else f"rows of {length} bytes; at least {LEAST} are needed"


KERNELS = (
    Kernel(
        ArgMaxMatMul, "argmaxmatmul_dots.c", "A B C:int32 mul:int32 add:int32 -> best place:int32",
        {"A": NARROW, "B": NARROW, "best": NARROW | {"int16"}}, unsupported_reason=unsupported_reason, cooperative=True,
        unsplit_loops=frozenset({"k", "r"}), work=in_c.work("tw_argmaxmatmul_dots_work"),
        header="argmaxmatmul.h",
    ),
)  # fmt: skip
