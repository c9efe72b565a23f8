from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import NUMBERS


@dataclass(frozen=True)
class CumSum(Op):
    """Running sums along an axis, from the end if `reverse`, without the element itself if `exclusive`."""

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        return {"X": loops, "Y": loops}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{self.axis}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype not in NUMBERS or not 0 <= self.axis < len(types["X"].shape):
            raise Refusal(f"running sums along axis {self.axis} of {types['X']} are not supported")

    def numpy(self, X: Array) -> Array:
        data = np.flip(X, self.axis) if self.reverse else X
        sums = np.cumsum(data, self.axis, dtype=X.dtype)
        if self.exclusive and X.size:
            sums = np.roll(sums, 1, self.axis)
            np.moveaxis(sums, self.axis, 0)[0] = 0
        return np.ascontiguousarray(np.flip(sums, self.axis) if self.reverse else sums)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        axis = node.scalar_at(1, "the axis")
        if axis is None:
            raise Refusal("the axis is missing")
        return cls(
            node.axis(int(axis), node.rank()), bool(node.attribute("exclusive", 0)), bool(node.attribute("reverse", 0))
        ), node.inputs[:1]
