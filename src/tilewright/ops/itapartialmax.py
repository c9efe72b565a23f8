from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import IntegerSoftmax, as_int32, whole_number
from tilewright.ops.itamax import halvings
from tilewright.records import dataclass


@dataclass(frozen=True)
class ITAPartialMax(IntegerSoftmax):
    """ITAMax over a row that arrives in groups: maximum and sum are corrected whenever a group raises the maximum.

    Shares go up to n_levels / 2 - 1.
    """

    group_width: int = 16

    @property
    def top(self) -> int:
        return self.n_levels // 2 - 1

    def shares(self, X: Array) -> Array:
        largest = np.full((*X.shape[:-1], 1), -128, np.int32)
        total = np.zeros_like(largest)
        for at in range(0, X.shape[-1], self.group_width):
            group = X[..., at : at + self.group_width]
            raised = np.maximum(largest, group.max(-1, keepdims=True))
            total = total >> np.where(raised > largest, halvings(raised, largest), 0)
            total = total + (np.int32(256) >> halvings(raised, group)).sum(-1, keepdims=True, dtype=np.int32)
            largest = raised
        return (self.top * 256 // np.maximum(total, 1)) >> halvings(largest, X)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        levels = whole_number(node, "n_levels", low=4, high=2**16)
        op = cls(levels, whole_number(node, "group_width", low=1))
        return emit(op, [as_int32(node, emit, 0)], node.outputs)
