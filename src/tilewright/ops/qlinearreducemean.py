from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.affine import FIRST, axis_loops
from tilewright.errors import Refusal
from tilewright.onnx_node import Emit, OnnxNode
from tilewright.op import Index, Op, Params
from tilewright.ops._loops import merge_loops, row_major
from tilewright.ops._qlinear import expand_unary, reach
from tilewright.requant import NO_CHANGE, Requant
from tilewright.types import Array, Shape, Shapes, TensorType


@dataclass(frozen=True)
class QLinearReduceMean(Op):
    """requant(sum(x - x_zero) * mul) over some axes; `mul` contains the division by the number of elements."""

    axes: Shape = ()
    keepdims: bool = True
    x_zero: int = 0
    mul: int = 1
    requant: Requant = NO_CHANGE

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        kept = [FIRST if axis in self.axes else loop for axis, loop in enumerate(loops)]
        return {
            "X": loops,
            "Y": tuple(loop for axis, loop in enumerate(kept) if self.keepdims or axis not in self.axes),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["X"])}

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype not in ("int8", "uint8", "int16", "uint16"):
            raise Refusal(f"X is {kind.dtype}; 8 and 16 bits are supported")
        count = math.prod(kind.shape[axis] for axis in self.axes)
        if count * reach(kind.dtype, self.x_zero) >= 2**31:
            raise Refusal(f"the sum of {count} elements of {kind.dtype} may overflow 32 bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def accumulate(self, X: Array) -> Array:
        return np.asarray(np.sum(X.astype(np.int64) - self.x_zero, self.axes, keepdims=self.keepdims))

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return self.requant(np.asarray(total), np.asarray(self.mul))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return expand_unary(node, emit, "ReduceMean")

    def params(self, types: Mapping[str, TensorType]) -> Params:
        shape, strides = types["X"].shape, row_major(types["X"].shape)
        kept = [axis for axis in range(len(shape)) if axis not in self.axes]
        outer, outer_strides = merge_loops([shape[axis] for axis in kept], {"X": [strides[axis] for axis in kept]})
        inner, inner_strides = merge_loops(
            [shape[axis] for axis in self.axes], {"X": [strides[axis] for axis in self.axes]}
        )
        return {
            "kept": {"rank": len(outer), "size": outer, "stride": outer_strides["X"]},
            "summed": {"rank": len(inner), "size": inner, "stride": inner_strides["X"]},
            "results": types["Y"].elements, "x_zero": self.x_zero, "mul": self.mul,
            "requant": self.requant.params(1),
        }  # fmt: skip
