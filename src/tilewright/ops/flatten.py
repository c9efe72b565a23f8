from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Shape
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Flatten(Op):
    """A matrix: the axes before `axis` as rows, the others as columns. Becomes a Reshape."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        shape = matrix_shape(node.type(0).shape, node.attribute("axis", 1))
        return emit(Reshape(shape), node.inputs, node.outputs)


def matrix_shape(shape: Shape, axis: int) -> Shape:
    """Rows from the axes before `axis` (which may be one past the last), columns from the others."""
    if not -len(shape) <= axis <= len(shape):
        raise Refusal(f"axis {axis} is outside a tensor of rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return math.prod(shape[:axis]), math.prod(shape[axis:])
