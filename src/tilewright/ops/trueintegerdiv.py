from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import INTEGERS, as_int32, whole_number
from tilewright.ops._elementwise import Unary
from tilewright.ops.integerdiv import IntegerDiv, division_of
from tilewright.records import dataclass


@dataclass(frozen=True)
class TrueIntegerDiv(Unary):
    """IntegerDiv by a constant y. Before a RequantShift it means less than that: see passes/fuse_integer_div.py."""

    accepts = INTEGERS
    delta: int = 1
    eta: int = 1
    eps: int = 0
    y: int = 1

    @property
    def numerator(self) -> int:
        """What x is multiplied by."""
        return self.delta * self.eta

    @property
    def denominator(self) -> int:
        return self.y * self.eta + self.eps

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int32",)

    def numpy(self, X: Array) -> Array:
        return IntegerDiv(self.delta, self.eta, self.eps).numpy(X, np.full((), self.y, np.int32))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        op = cls(*division_of(node), whole_number(node, "y"))
        return emit(op, [as_int32(node, emit, 0)], node.outputs)
