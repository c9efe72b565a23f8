from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array
from tilewright.ops._compose import Compose
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops._pool import Pool, read_pool
from tilewright.ops._pool_indices import positions_of_maxima
from tilewright.ops._pool_planes import has_planes, pooled_planes
from tilewright.ops._reduction import lowest
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.records import dataclass


@dataclass(frozen=True)
class MaxPool(Pool):
    """The largest element of each window; padding does not count."""

    accepts = NUMBERS

    def accumulate(self, X: Array) -> Array:
        return self.stored(self.patches(X, self.kernel, lowest(X.dtype)).max(axis=-1))

    def combine(self, left: Array, right: Array) -> Array:
        return np.maximum(left, right)

    def gradients(self, at: Adjoint) -> Gradients:
        """Each window's goes to the first element that is its largest."""
        window = {"strides": self.strides, "dilations": self.dilations, "padding": self.padding}
        fields = {**window, "kernel": self.kernel, "channels_last": self.channels_last}
        return {"X": at.gradient.apply("MaxPoolGrad", at["X"], **fields)}

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("storage_order")
        op = cls(*read_pool(node)[:4])
        return GlobalMaxPool() if op.covers(node.type(0).shape[2:]) else op, node.inputs

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if node.must_give(1):
            return cls._with_indices(node, emit)
        if has_planes(node):
            return pooled_planes(cls, node, emit)
        return super().expand(replace(node, outputs=node.outputs[:1]), emit)

    @classmethod
    def _with_indices(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if has_planes(node):
            raise Refusal("the output Indices of a window over 3 axes is not supported", "pool over two axes at a time")
        make, x = Compose(node, emit), node.inputs[0]
        op, columns_first = cls(*read_pool(node)[:4]), bool(node.attribute("storage_order", 0))
        return make.give(make(op, x), positions_of_maxima(make, x, op, columns_first))
