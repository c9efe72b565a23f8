from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Affine, whole
from tilewright.ir.types import Array, Shape, TensorType, limits
from tilewright.ops._per_axis import PerAxis
from tilewright.records import dataclass

ENTRIES = 256


@dataclass(frozen=True)
class Lookup(PerAxis):
    """table[x - lowest], where lowest is the smallest value of X's 8-bit type: any function of one byte, exactly.

    The table has 256 entries, or 256 for each position along `axis`.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "table")

    def constant_index(self, shape: Shape, axes: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return (whole(ENTRIES),) if len(shape) == 1 else (axes[self.axis], whole(ENTRIES))

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape, table = types["X"].shape, types["table"].shape
        if types["X"].dtype not in ("int8", "uint8"):
            raise Refusal(f"X is {types['X'].dtype}; a table of 256 entries needs int8 or uint8")
        if not table or table[-1] != ENTRIES:
            raise Refusal(f"the table has shape {table}; its last axis should be {ENTRIES}")
        if len(table) > 1:
            self.check_axis("table", table[:-1], shape)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (dtypes["table"],)

    def numpy(self, X: Array, table: Array) -> Array:
        entry = X.astype(np.intp) - limits(X.dtype.name)[0]
        if table.ndim == 1:
            return table[entry]
        return table[self.along(np.arange(table.shape[0]), X.ndim), entry]
