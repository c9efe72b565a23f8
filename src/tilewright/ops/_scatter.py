"""Base of operators that write updates into a copy of X, at positions that are known only at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import whole
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass

REDUCTIONS: dict[str, Callable[[Array, Any, Array], None] | None] = {
    "none": None,
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}
"""How an update joins what is there, in the order of tw_scatter's numbers in C; None replaces it."""


@dataclass(frozen=True)
class Scattering(Op):
    """Updates may go anywhere, so that one tile is everything."""

    reduction: str = "none"

    def index(self, shapes: Shapes) -> Index:
        maps = {name: tuple(map(whole, shape)) for name, shape in shapes.items()}
        return {**maps, "Y": maps["X"]}

    @property
    def code(self) -> int:
        return list(REDUCTIONS).index(self.reduction)

    def updated(self, X: Array, where: tuple[Array, ...], updates: Array) -> Array:
        result = X.copy()
        join = REDUCTIONS[self.reduction]
        if join is None:
            result[where] = updates
        else:
            join(result, where, updates)
        return result


def check_reduction(reduction: str, types: Mapping[str, TensorType]) -> None:
    if reduction not in REDUCTIONS:
        raise Refusal(f"reduction {reduction} is unknown", f"known: {', '.join(REDUCTIONS)}")
    if types["X"].dtype != types["updates"].dtype:
        raise Refusal(f"X is {types['X'].dtype}, updates are {types['updates'].dtype}", "insert a Cast")
    if reduction != "none" and types["X"].dtype == "bool":
        raise Refusal(f"reduction {reduction} of bool is not supported")


def check_linear(reduction: str) -> None:
    """Refuse to differentiate what is not linear in both operands."""
    if reduction not in ("none", "add"):
        raise Refusal(f"the reduction {reduction} has no gradient")
