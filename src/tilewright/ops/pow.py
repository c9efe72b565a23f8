from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import NUMBERS, Binary, Elementwise
from tilewright.ops.cast import saturated
from tilewright.ops.mul import Mul
from tilewright.records import dataclass


@dataclass(frozen=True)
class Pow(Binary):
    """a^b in a's type. Integers to integer powers wrap around (1 / x truncates), to float powers they saturate."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS

    def check(self, types: Mapping[str, TensorType]) -> None:
        Elementwise.check(self, types)

    def numpy(self, A: Array, B: Array) -> Array:
        if A.dtype == np.float32:
            return np.asarray(np.power(A.astype(np.float64), B.astype(np.float64))).astype(np.float32)
        if B.dtype == np.float32:
            # More than double precision, so that a whole result is whole after rounding and does not truncate to less.
            power = np.power(A.astype(np.longdouble), B.astype(np.longdouble))
            return saturated(np.asarray(power).astype(np.float64), A.dtype.name)
        return _integer_power(A, B)

    def gradients(self, at: Adjoint) -> Gradients:
        a, b, found = at["A"], at["B"], {}
        if at.wants("A"):
            found["A"] = at.gradient * (b.equals(0.0).where(0.0, b * a.apply("Pow", b - 1.0)))
        if at.wants("B"):
            found["B"] = at.gradient * (a > 0.0).where(at.y * a.log(), 0.0)
        return found

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if _is_square(node):
            return emit(Mul(), [node.inputs[0], node.inputs[0]], node.outputs)
        return emit(cls(), node.inputs, node.outputs)


def _integer_power(a: Array, b: Array) -> Array:
    power = np.power(a.astype(np.uint64), np.maximum(b, b.dtype.type(0)).astype(np.uint64)).astype(a.dtype)
    # 1 / a^-b is 0 unless a is 1 or -1.
    sign = np.where(b % b.dtype.type(2) == 0, 1, -1)
    inverse = np.where(a == 1, 1, np.where((a < 0) & (np.abs(a) == 1), sign, 0))
    return np.where(b < 0, inverse.astype(a.dtype), power)


def _is_square(node: OnnxNode) -> bool:
    exponent = node.constants[1] if node.has(1) else None
    if exponent is None or exponent.size != 1 or exponent.ndim > node.rank(0):
        return False
    return bool(exponent.reshape(-1)[0] == 2)
