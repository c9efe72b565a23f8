from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.types import Array, Shape, Shapes
from tilewright.ops._cells import Cells, State
from tilewright.ops._gate_functions import SIGMOID, TANH, GateFunction
from tilewright.records import dataclass


@dataclass(frozen=True)
class LSTMCells(Cells):
    """Long short-term memory: gates are input, output, forget and cell; P are peepholes of the first three."""

    operands: ClassVar[tuple[str, ...]] = ("X", "R?", "H?", "C?", "N?", "P?", "S?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Yh", "Yc")
    gates: ClassVar[int] = 4
    states: ClassVar[int] = 2
    functions: tuple[GateFunction, ...] = (SIGMOID, TANH, TANH)
    input_forget: bool = False
    """What is not taken from the input stays: the forget gate is 1 - the input gate."""
    dynamic: bool = False
    """At each step the state of all sequences is rounded to the 256 steps of its range before it is multiplied."""

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"t", "b"}) if self.dynamic else super().unsplittable(shapes)

    def operand_shapes(self, x: Shape) -> dict[str, Shape]:
        return super().operand_shapes(x) | {"P": (3 * x[2] // 4,)}

    def numpy(
        self, X: Array, R: Array | None = None, H: Array | None = None, C: Array | None = None,
        N: Array | None = None, P: Array | None = None, S: Array | None = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        hidden = X.shape[2] // 4
        peep_i, peep_o, peep_f = np.zeros((3, hidden)) if P is None else P.reshape(3, hidden)
        f, g, last = self.functions

        def step(x: Array, state: State, products: Array | None) -> State:
            h, c = state
            seen = rounded(h) if self.dynamic else h
            sums = x + (seen @ R.T.astype(np.float64) if R is not None else products)
            i, o, forget, cell = np.split(sums, 4, axis=1)
            i = f(self.clipped(i + peep_i * c))
            forget = 1 - i if self.input_forget else f(self.clipped(forget + peep_f * c))
            c = forget * c + i * g(self.clipped(cell))
            return f(self.clipped(o + peep_o * c)) * last(c), c

        return self.run(step, X, N, S, H, C)


def rounded(h: Array) -> Array:
    """To the nearest of 256 steps from the smallest to the largest value, zero among them; in single precision."""
    state, low, high = h.astype(np.float32), np.float32(min(h.min(), 0)), np.float32(max(h.max(), 0))
    scale = np.float32((high - low) / np.float32(255)) or np.float32(1)
    first = np.rint(low / scale)
    return np.clip(np.rint(state / scale), first, first + 255).astype(np.float64) * scale
