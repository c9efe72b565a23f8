from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.requant import NO_CHANGE, Requant
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import Elementwise
from tilewright.ops._qlinear import expand_binary, reach
from tilewright.ops.mul import Mul
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearMul(Elementwise):
    """requant((a - a_zero) * (b - b_zero) * mul + add): the product of two quantised tensors."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")
    accepts: ClassVar[frozenset[str]] = frozenset({"int8", "uint8", "int16", "uint16"})
    a_zero: int = 0
    b_zero: int = 0
    mul: int = 1
    requant: Requant = NO_CHANGE
    add: int = 0

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        product = reach(types["A"].dtype, self.a_zero) * reach(types["B"].dtype, self.b_zero)
        if product * abs(self.mul) >= 2**62:
            raise Refusal(f"{types['A'].dtype} times {types['B'].dtype} times {self.mul} may overflow 64 bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, A: Array, B: Array) -> Array:
        product = (A.astype(np.int64) - self.a_zero) * (B.astype(np.int64) - self.b_zero)
        return self.requant(product, np.asarray(self.mul), np.asarray(self.add))

    def swapped(self) -> QLinearMul:
        return replace(self, a_zero=self.b_zero, b_zero=self.a_zero)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return expand_binary(node, emit, Mul())
