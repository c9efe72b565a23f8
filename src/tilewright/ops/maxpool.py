from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops._pool import Pool, read_pool
from tilewright.ops._pool_planes import has_planes, pooled_planes
from tilewright.ops._reduction import lowest
from tilewright.ops.globalmaxpool import GlobalMaxPool


@dataclass(frozen=True)
class MaxPool(Pool):
    """The largest element of each window; padding does not count."""

    accepts = NUMBERS

    def accumulate(self, X: Array) -> Array:
        return self.stored(self.patches(X, self.kernel, lowest(X.dtype)).max(axis=-1))

    def combine(self, left: Array, right: Array) -> Array:
        return np.maximum(left, right)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("storage_order")
        op = cls(*read_pool(node)[:4])
        return GlobalMaxPool() if op.covers(node.type(0).shape[2:]) else op, node.inputs

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if node.must_give(1):
            raise Refusal("the output Indices is not supported", "remove MaxUnpool, or compute the indices otherwise")
        if has_planes(node):
            return pooled_planes(cls, node, emit)
        return super().expand(replace(node, outputs=node.outputs[:1]), emit)
