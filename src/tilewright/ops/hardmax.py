from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.argmax import ArgMax
from tilewright.ops.flatten import matrix_shape
from tilewright.ops.onehot import OneHot
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Hardmax(Op):
    """1 at the first largest element along an axis, 0 elsewhere. Becomes ArgMax and OneHot."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        shape = node.type(0).shape
        axis = node.attribute("axis", -1 if node.opset >= 13 else 1)
        seen = shape if node.opset >= 13 else matrix_shape(shape, axis)
        axis = node.axis(axis, len(shape)) if node.opset >= 13 else 1
        (x,) = emit(Reshape(seen), node.inputs)
        (where,) = emit(ArgMax(axis, keepdims=False), [x])
        values = emit.constant(np.array([0, 1], node.type(0).dtype), f"{node.name}_values")
        (x,) = emit(OneHot(axis, seen[axis], 0, seen[axis]), [where, values])
        return emit(Reshape(shape), [x], node.outputs)
