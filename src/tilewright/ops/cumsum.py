from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._chosen_axes import chosen
from tilewright.ops._compose import Compose
from tilewright.ops._elementwise import NUMBERS
from tilewright.records import dataclass


@dataclass(frozen=True)
class CumSum(Op):
    """Running sums along an axis, from the end if `reverse`, without the element itself if `exclusive`."""

    nothing: ClassVar[int] = 0
    """What stands before the first element."""
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
        found = self.accumulated(data)
        if self.exclusive and X.size:
            found = np.roll(found, 1, self.axis)
            np.moveaxis(found, self.axis, 0)[0] = self.nothing
        return np.ascontiguousarray(np.flip(found, self.axis) if self.reverse else found)

    def accumulated(self, X: Array) -> Array:
        return np.cumsum(X, self.axis, dtype=X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient.apply("CumSum", axis=self.axis, exclusive=self.exclusive, reverse=not self.reverse)}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, rank = Compose(node, emit), node.rank()
        exclusive, reverse = (bool(node.attribute(name, 0)) for name in ("exclusive", "reverse"))
        if not node.has(1):
            raise Refusal("the axis is missing")
        if node.constants[1] is None:
            ways = [(axis,) for axis in range(rank)]
            return make.give(
                chosen(
                    make, node.inputs[1], rank, ways, lambda way: make(cls(way[0], exclusive, reverse), node.inputs[0])
                )
            )
        axis = node.axis(int(node.scalar_at(1, "the axis") or 0), rank)
        return emit(cls(axis, exclusive, reverse), node.inputs[:1], node.outputs)
