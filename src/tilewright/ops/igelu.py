from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import INTEGERS, as_int32, int32, whole_number
from tilewright.ops._elementwise import Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class iGELU(Unary):  # noqa: N801
    """e = min(|x|, -b) + b and y = x * ((one + sign(x) * (one - e * e)) >> 1)."""

    accepts = INTEGERS
    b: int = 0
    one: int = 1

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int32",)

    def numpy(self, X: Array) -> Array:
        x = int32(X)
        e = np.minimum(np.abs(x), np.int32(-self.b)) + np.int32(self.b)
        return x * ((np.int32(self.one) + np.sign(x) * (np.int32(self.one) - e * e)) >> 1)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return emit(cls.of(node), [as_int32(node, emit, 0)], node.outputs)

    @classmethod
    def of(cls, node: OnnxNode) -> iGELU:
        return cls(whole_number(node, "b", low=1 - 2**31), whole_number(node, "one"))
