from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.requant import NO_CHANGE, Requant
from tilewright.ir.rounding import SCALED, Rounding
from tilewright.ir.tflite_rounding import scaled
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import Elementwise
from tilewright.ops._internal import Internal
from tilewright.ops._qlinear import reach
from tilewright.records import dataclass


@dataclass(frozen=True)
class Summand:
    """(x - zero) * 2**left, scaled by mul and a power of two."""

    zero: int
    mul: int
    exponent: int


UNCHANGED = Summand(0, 1 << 30, 1)


@dataclass(frozen=True)
class TfliteAdd(Elementwise, Internal):
    """requant(scaled((a - zero) * 2**left) + scaled((b - zero) * 2**left)): three roundings, as in TensorFlow Lite."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")
    accepts: ClassVar[frozenset[str] | None] = frozenset({"int8", "uint8", "int16"})
    roundings: ClassVar[frozenset[Rounding]] = SCALED - {Rounding.FLOAT}
    left: int = 20
    first: Summand = UNCHANGED
    second: Summand = UNCHANGED
    mul: int = 1 << 30
    exponent: int = 0
    requant: Requant = NO_CHANGE

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        for name, summand in (("A", self.first), ("B", self.second)):
            if reach(types[name].dtype, summand.zero) << self.left >= 2**31:
                raise Refusal(f"{types[name].dtype} shifted by {self.left} bits does not fit 32 bits")
            if summand.exponent > 0:
                raise Refusal(f"a summand is scaled by 2**{summand.exponent}; at most 1 is supported")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, A: Array, B: Array) -> Array:
        total = self.scaled(A, self.first) + self.scaled(B, self.second)
        return self.requant(total, np.asarray(self.mul), np.asarray(self.exponent))

    def swapped(self) -> TfliteAdd:
        return replace(self, first=self.second, second=self.first)

    def scaled(self, values: Array, summand: Summand) -> Array:
        shifted = (values.astype(np.int64) - summand.zero) << self.left
        return scaled(shifted, np.asarray(summand.mul), np.asarray(summand.exponent), self.requant.rounding)
