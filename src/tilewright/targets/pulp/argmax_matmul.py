"""The likeliest word of each block of a vocabulary, all cores together: products that are compared and not stored."""

from __future__ import annotations

import math

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Kernel, Types

LEAST = 4
"""Bytes of a row that a dot product takes at once."""


def unsupported_reason(op: Op, types: Types) -> str | None:
    if instance(op, ArgMaxMatMul).requant is None:
        return "its accumulators are not requantised"
    length = types["B"].shape[1]
    return None if length >= LEAST else f"rows of {length} bytes; at least {LEAST} are needed"


def block_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call; blocks of one core, their strips of four words, the bytes along these, four at a time; strips whose
    totals do not begin at zero; and words that are requantised in 64 bits."""
    rows = math.prod(size for loop, size in extents.items() if loop.startswith("d"))
    blocks, strips = up(rows * extents["j"], cores), up(extents["r"], 4)
    begun = blocks * strips if "C" in types else 0
    exact = blocks * extents["r"] if "add" in types or types["best"].dtype != "int16" else 0
    work = blocks, blocks * strips, blocks * strips * up(extents["k"], 4), begun, exact
    return 1.0, *map(float, work)


KERNELS = (
    Kernel(
        ArgMaxMatMul, "argmaxmatmul_dots.c", "A B C:int32 mul:int32 add:int32 -> best place:int32",
        {"A": NARROW, "B": NARROW, "best": NARROW | {"int16"}}, unsupported_reason=unsupported_reason, cooperative=True,
        unsplit_loops=frozenset({"k", "r"}), features=block_features, header="argmaxmatmul.h",
    ),
)  # fmt: skip
