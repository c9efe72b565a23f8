from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import IntegerSoftmax, as_int32, int32, whole_number
from tilewright.records import dataclass


@dataclass(frozen=True)
class ITAMax(IntegerSoftmax):
    """k = (max(x) - x + 16) >> 5 and y = (top * 256 // sum(256 >> k)) >> k: a softmax to the base of two."""

    def shares(self, X: Array) -> Array:
        k = halvings(int32(X).max(-1, keepdims=True), X)
        total = (np.int32(256) >> k).sum(-1, keepdims=True, dtype=np.int32)
        return (self.top * 256 // total) >> k

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return emit(cls(whole_number(node, "n_levels", low=2, high=2**16)), [as_int32(node, emit, 0)], node.outputs)


def halvings(largest: Array, X: Array) -> Array:
    """How often a share is halved for its distance from the largest value: once per 32, rounded, at most 31 times."""
    distance = largest.astype(np.int64) - X
    return int32(np.minimum((distance + 16) >> 5, 31))
