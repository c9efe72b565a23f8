"""The kernel of quantised networks' softmaxes of rows of bytes, all cores together."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.qlinearsoftmax import EXP_BITS, QLinearSoftmax
from tilewright.target.extents import up
from tilewright.target.kernel import Kernel, Types

LONGEST = 2 ** (32 - EXP_BITS) - 1
"""Elements of a row whose exponentials have a sum of 32 bits."""


def unsupported_reason(op: Op, types: Types) -> str | None:
    axis, shape = instance(op, QLinearSoftmax).axis, types["X"].shape
    if prod(shape[axis + 1 :]) != 1:
        return "its rows are not the last axis"
    return None if 0 < shape[axis] <= LONGEST else f"rows of {shape[axis]} elements, not 1 to {LONGEST}"


def features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call, rows that a core adds up, their elements, and those whose shares it computes."""
    length = list(extents.values())[instance(op, QLinearSoftmax).axis]
    rows = prod(extents.values()) // length
    own = rows if rows < cores else up(rows, cores)
    part = up(length, cores) if rows < cores else length
    return 1.0, float(own), float(own * length), float(own * part)


KERNELS = (
    Kernel(
        QLinearSoftmax, "qlinearsoftmax_rows.c", "X table:int32 -> Y", {"X": NARROW, "Y": NARROW},
        unsupported_reason=unsupported_reason, cooperative=True, features=features, header="qlinearsoftmax.h",
    ),
)  # fmt: skip
