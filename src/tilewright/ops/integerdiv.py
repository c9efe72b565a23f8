from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import INTEGERS, as_int32, divide, whole_number
from tilewright.ops._elementwise import Elementwise
from tilewright.records import dataclass


@dataclass(frozen=True)
class IntegerDiv(Elementwise):
    """Delta * a / (b + eps / eta), rounded to the nearest integer, halves away from zero; 0 for a denominator of 0.

    Numerator Delta * eta * a and denominator eta * b + eps have 64 bits.
    """

    operands: ClassVar[tuple[str, ...]] = ("A", "B")
    accepts = INTEGERS
    delta: int = 1
    eta: int = 1
    eps: int = 0

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int32",)

    def numpy(self, A: Array, B: Array) -> Array:
        numerator = A.astype(np.int64) * np.int64(self.delta * self.eta)
        denominator = B.astype(np.int64) * np.int64(self.eta) + np.int64(self.eps)
        return divide(numerator + np.sign(numerator) * (denominator >> 1), denominator).astype(np.int32)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        operands = [as_int32(node, emit, position) for position in (0, 1)]
        return emit(cls(*division_of(node)), operands, node.outputs)


def division_of(node: OnnxNode) -> tuple[int, int, int]:
    """Delta, eta and eps of a node, so small that products with 24-bit integers fit 64 bits."""
    delta, eta = whole_number(node, "Delta", low=0), whole_number(node, "eta", low=0)
    if delta * eta >= 2**39:
        raise Refusal(f"Delta * eta is {delta * eta}; below {2**39} is supported", "export with smaller factors")
    return delta, eta, whole_number(node, "eps", low=0)
