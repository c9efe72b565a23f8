from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops.qlinearfunction import LOWEST, X_BITS
from tilewright.records import dataclass

TABLES = tuple((2**size,) for size in range(1, X_BITS + 1))
"""The shapes that a table may have."""


@dataclass(frozen=True)
class QLinearSteps(Internal):
    """A function of a 16-bit integer that is the same for 2**b neighbours, by a table of 2**(16 - b) bytes:
    y = table[(x - LOWEST) >> b]."""

    operands: ClassVar[tuple[str, ...]] = ("X", "table")
    elementwise: ClassVar[bool] = True

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "table": (whole(shapes["table"][0]),), "Y": axes}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != "int16" or types["table"].dtype not in ("int8", "uint8"):
            raise Refusal(f"a table of {types['table'].dtype} for {types['X'].dtype}; bytes for int16 are expected")
        if types["table"].shape not in TABLES:
            raise Refusal(f"the table has shape {types['table'].shape}; a power of two is expected, from 2 on")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (dtypes["table"],)

    def numpy(self, X: Array, table: Array) -> Array:
        return table[(X.astype(np.int32) - LOWEST) >> step_bits(len(table))]


def step_bits(entries: int) -> int:
    """How many of the lower bits of x do not matter."""
    return X_BITS + 1 - entries.bit_length()
