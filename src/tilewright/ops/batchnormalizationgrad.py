from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.reducesum import ReduceSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class BatchNormalizationGrad(Op):
    """Gradients of the operand, scale and bias of a BatchNormalization that took mean and variance of the batch.

    Inputs are dY, X, scale, and mean and inverse deviation of each channel.
    """

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("epsilon")
        make, shape = Compose(node, emit), node.type(1).shape
        if node.type(0).shape != shape or len(shape) < 2:
            raise Refusal(f"dY has shape {node.type(0).shape} and X {shape}")
        gradient, x, scale, mean, inverse = node.inputs[:5]
        axes, count = tuple(axis for axis in range(len(shape)) if axis != 1), math.prod(shape) // max(shape[1], 1)
        d_bias = make(ReduceSum(axes, False), gradient)
        products = make(ReduceSum(axes, False), make.mul(gradient, x))
        d_scale = make.mul(inverse, make.sub(products, make.mul(mean, d_bias)))
        if not node.must_give(0):
            return make.give("", d_scale, d_bias)
        factor = make.mul(scale, inverse)
        of_x = make.scaled(make.mul(make.mul(factor, inverse), d_scale), -1.0 / max(count, 1))
        start = make.sub(make.scaled(make.mul(factor, d_bias), -1.0 / max(count, 1)), make.mul(mean, of_x))
        along = make(BatchNormalization(), x, of_x, start)
        zeros = make.scaled(factor, 0.0)
        return make.give(make.add(make(BatchNormalization(), gradient, factor, zeros), along), d_scale, d_bias)
