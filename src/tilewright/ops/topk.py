from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import NUMBERS
from tilewright.records import dataclass


@dataclass(frozen=True)
class TopK(Op):
    """The k largest (or smallest) elements along an axis in order, and where they are; equals in their order.

    What is not a number counts as larger than all numbers.
    """

    results: ClassVar[tuple[str, ...]] = ("Y", "indices")
    k: int = 1
    axis: int = 0
    largest: bool = True

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        before, after = loops[: self.axis], loops[self.axis + 1 :]
        found = (*before, whole(self.k), *after)
        return {"X": (*before, whole(shapes["X"][self.axis]), *after), "Y": found, "indices": found}

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype not in NUMBERS or not 0 <= self.axis < len(kind.shape):
            raise Refusal(f"the largest along axis {self.axis} of {kind} is not supported")
        if not 0 <= self.k <= kind.shape[self.axis]:
            raise Refusal(f"k is {self.k}, but axis {self.axis} has {kind.shape[self.axis]} elements")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return dtypes["X"], "int64"

    def numpy(self, X: Array) -> tuple[Array, Array]:
        if self.largest:
            # From the end, so that of equals the first comes first when the order is turned round.
            backward = np.argsort(np.flip(X, self.axis), self.axis, kind="stable")
            order = np.flip(X.shape[self.axis] - 1 - backward, self.axis)
        else:
            order = np.argsort(X, self.axis, kind="stable")
        places = np.take(order, np.arange(self.k), self.axis).astype(np.int64)
        return np.take_along_axis(X, places, self.axis), places

    def gradients(self, at: Adjoint) -> Gradients:
        zeros, places = at["X"].zeros(at["X"].shape), at.results["indices"]
        return {"X": zeros.apply("ScatterElements", places, at.gradient, axis=self.axis, reduction="add")}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("sorted")
        k = node.scalar_at(1, "k") or 0 if node.has(1) else node.attribute("k")
        axis = node.axis(node.attribute("axis", -1), node.rank())
        op = cls(int(k), axis, bool(node.attribute("largest", 1)))
        found = [name or emit.fresh(f"{node.name}_{position}") for position, name in enumerate((*node.outputs, "")[:2])]
        return emit(op, node.inputs[:1], found)
