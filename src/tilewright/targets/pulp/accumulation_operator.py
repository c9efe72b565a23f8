"""A gradient that begins a sum or is added to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import FLOATS, Elementwise
from tilewright.records import dataclass


@dataclass(frozen=True)
class Accumulation(Elementwise):
    """A where C, which is one truth value, holds; otherwise A + B."""

    operands: ClassVar[tuple[str, ...]] = ("C", "A", "B")

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["C"].dtype != "bool" or types["C"].elements != 1:
            raise Refusal("the condition is not one truth value")
        if types["A"] != types["B"] or types["A"].dtype not in FLOATS:
            raise Refusal("operands are not floats of one shape")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (dtypes["A"],)

    def numpy(self, C: Array, A: Array, B: Array) -> Array:
        return A if C.item() else A + B
