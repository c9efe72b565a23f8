"""Kernels of requantisations, of sums of quantised tensors, and of pools."""

from __future__ import annotations

from tilewright.ir.op import Op
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


KERNELS = (
    Kernel(
        RequantShift, "requantshift_rows.c", "X mul:int32 add:int32 -> Y", {"X": TOTALS, "Y": SHORT},
        header="requantshift.h",
    ),
    Kernel(
        MaxPool, "maxpool_windows.c", "X -> Y", {"X": NARROW, "Y": NARROW}, objection=channels_second, header="pool.h"
    ),
    Kernel(
        TfliteAdd, "tfliteadd_bytes.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, scratch=tables,
        header="tfliteadd.h",
    ),
    Kernel(
        RequantizedAdd, "requantizedadd_bytes.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, scratch=tables,
        header="requantizedadd.h",
    ),
)  # fmt: skip
