from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.requant import NO_CHANGE, Requant, shift_right
from tilewright.ir.rounding import UP_OR_EVEN, Rounding
from tilewright.ir.types import BYTES, Array, TensorType, limits
from tilewright.ops._elementwise import Elementwise
from tilewright.ops._qlinear import expand_binary
from tilewright.ops.add import Add
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearAdd(Elementwise):
    """clamp(round((a * mul_a + b * mul_b + offset) / 2**shift) + zero_point): the sum of two quantised tensors.

    `offset` holds what the operands' zero points contribute. The sum is taken in 32 bits where both operands have 8.
    """

    operands: ClassVar[tuple[str, ...]] = ("A", "B")
    roundings: ClassVar[frozenset[Rounding]] = UP_OR_EVEN
    accepts: ClassVar[frozenset[str] | None] = frozenset({"int8", "uint8", "int16", "uint16", "int32"})
    mul_a: int = 1
    mul_b: int = 1
    offset: int = 0
    requant: Requant = NO_CHANGE

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        kinds = types["A"].dtype, types["B"].dtype
        if self.largest(*kinds) >= 2 ** (sum_bits(*kinds) - 1):
            raise Refusal(f"the sum of {kinds[0]} and {kinds[1]} may overflow {sum_bits(*kinds)} bits")

    def largest(self, a: str, b: str) -> int:
        """A bound of the sum before the shift."""
        half = (1 << self.requant.shift) >> 1
        return magnitude(a) * abs(self.mul_a) + magnitude(b) * abs(self.mul_b) + abs(self.offset) + half

    def fits_32(self, a: str, b: str) -> bool:
        """Whether 32 bits hold the sum before the shift, whatever operands of these types are."""
        return self.largest(a, b) < 2**31

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, A: Array, B: Array) -> Array:
        total = A.astype(np.int64) * self.mul_a + B.astype(np.int64) * self.mul_b + self.offset
        value = shift_right(total, self.requant.shift, self.requant.rounding) + self.requant.zero_point
        return np.asarray(np.clip(value, self.requant.low, self.requant.high), self.requant.dtype)

    def swapped(self) -> QLinearAdd:
        return replace(self, mul_a=self.mul_b, mul_b=self.mul_a)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return expand_binary(node, emit, Add())


def sum_bits(a: str, b: str) -> int:
    """The width in which the kernel adds operands of these types."""
    return 32 if BYTES[a] == BYTES[b] == 1 else 64


def magnitude(dtype: str) -> int:
    low, high = limits(dtype)
    return max(-low, high)
