from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._cells import Cells, State
from tilewright.ops._gate_functions import TANH, GateFunction
from tilewright.records import dataclass


@dataclass(frozen=True)
class RNNCells(Cells):
    """The plain recurrent layer: h = f(x + R h)."""

    operands: ClassVar[tuple[str, ...]] = ("X", "R?", "H?", "N?", "S?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Yh")
    gates: ClassVar[int] = 1
    functions: tuple[GateFunction, ...] = (TANH,)

    def numpy(
        self, X: Array, R: Array | None = None, H: Array | None = None, N: Array | None = None, S: Array | None = None
    ) -> tuple[Array, ...]:
        def step(x: Array, state: State, products: Array | None) -> State:
            (h,) = state
            return (self.functions[0](self.clipped(x + (h @ R.T.astype(np.float64) if R is not None else products))),)

        return self.run(step, X, N, S, H)
