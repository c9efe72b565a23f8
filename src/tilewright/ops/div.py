from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops._arithmetic import Arithmetic
from tilewright.records import dataclass


@dataclass(frozen=True)
class Div(Arithmetic):
    """a / b; integers truncate toward zero, and x / 0 is 0 for them."""

    def gradients(self, at: Adjoint) -> Gradients:
        by_first = at.gradient / at["B"]
        return {"A": by_first, "B": -(by_first * at.y)} if at.wants("B") else {"A": by_first}

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("Delta", "eps", "eta")  # left on float divisions by exporters of the integer dialect
        return super().from_onnx(node)

    def numpy(self, A: Array, B: Array) -> Array:
        if A.dtype == np.float32:
            return A / B
        return _truncated(A.astype("int32"), B.astype("int32")) if self.wide else _truncated(A, B)


def _truncated(a: Array, b: Array) -> Array:
    divisor = np.where(b == 0, b.dtype.type(1), b)
    quotient = (a - np.fmod(a, divisor)) // divisor
    return np.where(b == 0, b.dtype.type(0), quotient)
