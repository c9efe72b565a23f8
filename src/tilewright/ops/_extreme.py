"""Base of ArgMax and ArgMin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import NUMBERS
from tilewright.records import dataclass


@dataclass(frozen=True)
class Extreme(Op):
    """Where along `axis` the extreme element is: the first of equals, or the last if `select_last_index`."""

    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        kept = (FIRST,) if self.keepdims else ()
        return {"X": loops, "Y": (*loops[: self.axis], *kept, *loops[self.axis + 1 :])}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{self.axis}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype not in NUMBERS or not 0 <= self.axis < len(kind.shape) or kind.shape[self.axis] == 0:
            raise Refusal(f"the extreme along axis {self.axis} of {kind} is not supported")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int64",)

    def find(self, X: Array) -> Array:
        """The first extreme along the axis."""
        raise NotImplementedError(type(self).__name__)

    def numpy(self, X: Array) -> Array:
        places = self.find(np.flip(X, self.axis) if self.select_last_index else X)
        if self.select_last_index:
            places = X.shape[self.axis] - 1 - places
        return np.asarray(np.expand_dims(places, self.axis) if self.keepdims else places, np.int64)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        axis = node.axis(node.attribute("axis", 0), node.rank())
        keepdims, last = node.attribute("keepdims", 1), node.attribute("select_last_index", 0)
        return cls(axis, bool(keepdims), bool(last)), node.inputs
