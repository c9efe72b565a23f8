"""Kernels of requantisations, of sums of quantised tensors, and of pools."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.requant import requants_of
from tilewright.ir.rounding import Rounding
from tilewright.ops._linear import NARROW
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.linear import TOTALS, channels_second

BYTES = 256
SHORT = TOTALS - {"int32"}


def tables(op: Op, types: Types) -> int:
    """What becomes of every byte of either operand, as words."""
    return 4 * 2 * BYTES


def sum_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; tables, where they are worth it; rows; sums with and without them, the former by the last rounding."""
    shape = types["Y"].shape
    sums, rows = math.prod(shape), math.prod(shape[:-1]) if types["A"].shape != types["B"].shape else 1
    has_tables = sums >= 2 * BYTES
    last = requants_of(op)[-1]
    is_near = not last.has_exponents and (last.shift > 32 or last.rounding == Rounding.HALF_UP)
    is_short = is_near or last.rounding == Rounding.DOUBLE
    return (
        1.0, float(has_tables), float(rows), float(sums * (has_tables and is_short)),
        float(sums * (has_tables and not is_short)), float(sums * (not has_tables)),
    )  # fmt: skip


def requant_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; rows of a channel; results of short shifts, and all others."""
    shift, results, found = cast(RequantShift, op), math.prod(types["Y"].shape), cast(RequantShift, op).requant
    rows = math.prod(types["X"].shape[: shift.axis + 1]) if shift.axis >= 0 else 1
    is_near = found.rounding == Rounding.HALF_UP and 0 < found.shift < 32
    return 1.0, float(rows), float(results * is_near), float(results * (not is_near))


KERNELS = (
    Kernel(
        RequantShift, "requantshift_rows.c", "X mul:int32 add:int32 -> Y", {"X": TOTALS, "Y": SHORT},
        header="requantshift.h", features=requant_features,
    ),
    Kernel(
        MaxPool, "maxpool_windows.c", "X -> Y", {"X": NARROW, "Y": NARROW}, unsupported_reason=channels_second,
        header="pool.h",
    ),
    Kernel(
        TfliteAdd, "tfliteadd_bytes.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, scratch=tables,
        header="tfliteadd.h", features=sum_features,
    ),
    Kernel(
        RequantizedAdd, "requantizedadd_bytes.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, scratch=tables,
        header="requantizedadd.h", features=sum_features,
    ),
)  # fmt: skip
