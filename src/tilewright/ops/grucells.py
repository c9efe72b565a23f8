from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops._cells import Cells, State
from tilewright.ops._gate_functions import SIGMOID, TANH, GateFunction
from tilewright.records import dataclass


@dataclass(frozen=True)
class GRUCells(Cells):
    """Gated recurrent units: gates are update, reset and hidden. B is added to the hidden gate's product with the
    state, which is reset afterwards if `linear_before_reset`; otherwise it is the state that is reset."""

    operands: ClassVar[tuple[str, ...]] = ("X", "R?", "H?", "N?", "B?", "S?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Yh")
    gates: ClassVar[int] = 3
    functions: tuple[GateFunction, ...] = (SIGMOID, TANH)
    linear_before_reset: bool = False

    def operand_shapes(self, x: Shape) -> dict[str, Shape]:
        return super().operand_shapes(x) | {"B": (x[2] // 3,)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if not self.linear_before_reset and {"B", "S"} & set(types):
            raise Refusal("B and S are for products before the reset")

    def numpy(
        self, X: Array, R: Array | None = None, H: Array | None = None, N: Array | None = None,
        B: Array | None = None, S: Array | None = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        hidden = X.shape[2] // 3
        f, g = self.functions
        weights = None if R is None else R.astype(np.float64).reshape(3, hidden, hidden)
        bias = 0.0 if B is None else B

        def product(h: Array, gate: int) -> Array:
            if weights is None:
                return np.asarray(S)[:, gate * hidden : (gate + 1) * hidden]
            return np.asarray(h @ weights[gate].T)

        def step(x: Array, state: State, _: Array | None) -> State:
            (h,) = state
            update, reset, new = np.split(x, 3, axis=1)
            update = f(self.clipped(update + product(h, 0)))
            reset = f(self.clipped(reset + product(h, 1)))
            kept = reset * (product(h, 2) + bias) if self.linear_before_reset else product(reset * h, 2)
            return ((1 - update) * g(self.clipped(new + kept)) + update * h,)

        return self.run(step, X, N, S, H)
