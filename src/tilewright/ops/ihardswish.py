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
class iHardswish(Unary):  # noqa: N801
    """x * (clamp(x + three, 0, six) * one_over_six)."""

    accepts = INTEGERS
    three: int = 3
    six: int = 6
    one_over_six: int = 1

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int32",)

    def numpy(self, X: Array) -> Array:
        x = int32(X)
        return x * (np.clip(x + np.int32(self.three), 0, self.six) * np.int32(self.one_over_six))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        op = cls(whole_number(node, "three"), whole_number(node, "six", low=0), whole_number(node, "one_over_six"))
        return emit(op, [as_int32(node, emit, 0)], node.outputs)
