from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ir.value import Value
from tilewright.records import dataclass


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

    def gradients(self, at: Adjoint) -> Gradients:
        x = at["X"]
        before = (self.size - 1) // 2
        base = _window_sums(x.squared(), self.size, before) * (self.alpha / self.size) + self.bias
        scale = base.apply("Pow", -self.beta)
        inner = _window_sums(at.gradient * x * (scale / base), self.size, self.size - 1 - before)
        return {"X": at.gradient * scale - x * inner * (2 * self.alpha * self.beta / self.size)}


def _window_sums(x: Value, size: int, before: int) -> Value:
    """For each channel the sum over `size` of them, from `before` ahead of it on."""
    wide = x.pad([(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.rank - 2)])
    total = wide.part(1, 0, x.shape[1])
    for first in range(1, size):
        total = total + wide.part(1, first, first + x.shape[1])
    return total
