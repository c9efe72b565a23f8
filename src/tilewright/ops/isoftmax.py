from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import IntegerSoftmax, as_int32, divide, int32, whole_number
from tilewright.records import dataclass


@dataclass(frozen=True)
class iSoftmax(IntegerSoftmax):  # noqa: N801
    """e = (a * (p + b)^2 + c) >> z and y = e * top // sum(e), where x - max(x) = p - z * ln2.

    A second-order polynomial stands for the exponential of p; the shift is the part that is a power of two.
    """

    ln2: int = 1
    a: int = 1
    b: int = 0
    c: int = 0

    def shares(self, X: Array) -> Array:
        t = int32(X) - int32(X).max(-1, keepdims=True)
        z = np.clip(int32(-divide(t, self.ln2)), 0, 31)
        p = t + z * np.int32(self.ln2) + np.int32(self.b)
        e = ((np.int32(self.a) * (p * p) + np.int32(self.c)) >> z).astype(np.uint32)
        total = np.maximum(e.sum(-1, keepdims=True, dtype=np.uint32), 1)
        return int32(e * np.uint32(self.top) // total)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        levels = whole_number(node, "n_levels", low=2, high=2**16)
        ln2 = whole_number(node, "log2", low=1)
        a, b, c = (whole_number(node, f"coeff{letter}") for letter in "ABC")
        return emit(cls(levels, ln2, a, b, c), [as_int32(node, emit, 0)], node.outputs)
