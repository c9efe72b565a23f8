"""Kernels of sums of quantised tensors."""

from __future__ import annotations

from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.target.kernel import Kernel, Types

BYTES = 256


def tables(op: Op, types: Types) -> int:
    """What becomes of every byte of either operand, as words."""
    return 4 * 2 * BYTES


KERNELS = (
    Kernel(
        TfliteAdd, "tfliteadd_bytes.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, scratch=tables,
        header="tfliteadd.h",
    ),
    Kernel(
        RequantizedAdd, "requantizedadd_bytes.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, scratch=tables,
        header="requantizedadd.h",
    ),
)  # fmt: skip
