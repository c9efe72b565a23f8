from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducesum import ReduceSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class LayerNormalizationGrad(Op):
    """Gradients of a LayerNormalization's operand, scale and bias.

    Inputs are dY, X, scale, and the mean and inverse deviation of each row; or scale and bias alone, from which rows
    are normalised again.
    """

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("stash_type")
        make, rank = Compose(node, emit), node.rank(1)
        axis = node.axis(node.attribute("axis", -1), rank)
        if node.type(0).shape != node.type(1).shape:
            raise Refusal(f"dY has shape {node.type(0).shape} and X {node.type(1).shape}")
        epsilon = float(node.attribute("epsilon", 1e-5))
        gradient, x, scale = node.inputs[:3]
        mean, inverse = _statistics(make, axis, epsilon)
        normal = make.mul(make.sub(x, mean), inverse)
        rows, within = tuple(range(axis)), tuple(range(axis, rank))
        d_scale = make(ReduceSum(rows, False), make.mul(gradient, normal)) if node.must_give(1) else ""
        d_bias = make(ReduceSum(rows, False), gradient) if node.must_give(2) else ""
        if not node.must_give(0):
            return make.give("", d_scale, d_bias)
        scaled = make.mul(gradient, scale)
        along = make.mul(normal, make(ReduceMean(within, True), make.mul(scaled, normal)))
        rest = make.sub(make.sub(scaled, make(ReduceMean(within, True), scaled)), along)
        return make.give(make.mul(rest, inverse), d_scale, d_bias)


def _statistics(make: Compose, axis: int, epsilon: float) -> tuple[str, str]:
    """Mean and inverse deviation of each row, as given or from the rows."""
    node, shape = make.node, make.node.type(1).shape
    rows = (*shape[:axis], *(1,) * (len(shape) - axis))
    if not node.has(4):
        _, mean, inverse = make.emit(LayerNormalization(axis, epsilon), [node.inputs[1]])
        return mean, inverse
    for position in (3, 4):
        if node.type(position).elements != make.kind(node.inputs[1]).elements // max(math.prod(shape[axis:]), 1):
            raise Refusal(f"input {position} has shape {node.type(position).shape} for rows of {shape[axis:]}")
    return make.reshape(node.inputs[3], rows), make.reshape(node.inputs[4], rows)
