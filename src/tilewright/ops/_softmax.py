"""Base of Softmax and LogSoftmax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops.flatten import matrix_shape
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class SoftmaxLike(Op):
    """A distribution along one axis."""

    logarithm: ClassVar[bool]
    axis: int = -1

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        return {"X": loops, "Y": loops}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{self.axis % len(shapes['X'])}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype != "float32" or not -len(kind.shape) <= self.axis < len(kind.shape):
            raise Refusal(
                f"{self.kind} along axis {self.axis} of {kind} is not supported", "it takes float32: insert a Cast"
            )

    def numpy(self, X: Array) -> Array:
        if not X.size:
            return X.copy()
        shifted = X.astype(np.float64) - X.max(axis=self.axis, keepdims=True)
        total = np.exp(shifted).sum(axis=self.axis, keepdims=True)
        result = shifted - np.log(total) if self.logarithm else np.exp(shifted) / total
        return result.astype(np.float32)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        shape = node.type(0).shape
        axis = node.attribute("axis", -1 if node.opset >= 13 else 1)
        if node.opset >= 13:
            return emit(cls(node.axis(axis, len(shape))), node.inputs, node.outputs)
        # Older opsets see a matrix: everything from the axis on is one distribution.
        (x,) = emit(Reshape(matrix_shape(shape, axis)), node.inputs)
        (x,) = emit(cls(1), [x])
        return emit(Reshape(shape), [x], node.outputs)
