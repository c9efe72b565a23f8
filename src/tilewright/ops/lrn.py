from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType


@dataclass(frozen=True)
class LRN(Op):
    """x / (bias + alpha / size * sum of squares of the `size` channels around it) ** beta."""

    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0
    size: int = 1

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        return {"X": loops, "Y": loops}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"d1"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype != "float32" or len(kind.shape) < 2 or self.size < 1:
            raise Refusal(
                f"normalisation over {self.size} channels of {kind} is not supported", "it takes float32 with channels"
            )

    def numpy(self, X: Array) -> Array:
        before = (self.size - 1) // 2
        edges = [(0, 0), (before, self.size - 1 - before), *[(0, 0)] * (X.ndim - 2)]
        squares = np.pad(X.astype(np.float64) ** 2, edges)
        total = sum(squares[:, shift : shift + X.shape[1]] for shift in range(self.size))
        return (X / (self.bias + self.alpha / self.size * total) ** self.beta).astype(np.float32)
