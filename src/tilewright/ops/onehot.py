from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, axis_loops, whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops.cast import Cast
from tilewright.records import dataclass


@dataclass(frozen=True)
class OneHot(Op):
    """values[1] where the position along a new axis is the index, values[0] elsewhere; negative ones from the end."""

    operands: ClassVar[tuple[str, ...]] = ("indices", "values")
    axis: int = 0
    depth: int = 0
    start: int = 0
    """Where on the new axis this part of it begins."""
    length: int = 0
    """How many of the `depth` positions this part has."""

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["indices"]) + 1)
        return {"indices": loops[: self.axis] + loops[self.axis + 1 :], "values": (whole(2),), "Y": loops}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        sizes = (*shapes["indices"][: self.axis], self.length, *shapes["indices"][self.axis :])
        return {f"d{axis}": size for axis, size in enumerate(sizes)}

    def at(self, shapes: Shapes, box: Box) -> Op:
        first, last = box[f"d{self.axis}"]
        return replace(self, start=self.start + first, length=last - first)

    def check(self, types: Mapping[str, TensorType]) -> None:
        if not 0 <= self.axis <= len(types["indices"].shape) or self.depth < 0:
            raise Refusal(f"depth {self.depth} along axis {self.axis} of rank {len(types['indices'].shape)} + 1")
        if types["values"].shape != (2,):
            raise Refusal(f"values of shape {types['values'].shape}, two expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (dtypes["values"],)

    def numpy(self, indices: Array, values: Array) -> Array:
        wide = np.expand_dims(indices.astype(np.int64), self.axis)
        wide = np.where(wide < 0, wide + self.depth, wide)
        places = np.arange(self.start, self.start + self.length)
        hot: Array = wide == places.reshape(-1, *(1,) * (indices.ndim - self.axis))
        return np.take(values, hot.astype(np.int64))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        depth = node.scalar_at(1, "the depth")
        if depth is None:
            raise Refusal("the depth is missing")
        axis = node.axis(node.attribute("axis", -1), node.rank() + 1)
        indices = node.inputs[0]
        if node.type(0).dtype not in ("int32", "int64"):
            (indices,) = emit(Cast("int64"), [indices])
        return emit(cls(axis, int(depth), 0, int(depth)), [indices, *node.inputs[2:]], node.outputs)
