"""A requantisation whose factor and summand are part of the operator."""

from __future__ import annotations

import numpy as np

from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array
from tilewright.records import dataclass


@dataclass(frozen=True)
class Scaling:
    """A requantisation with one multiplier and one summand."""

    mul: int
    add: int
    requant: Requant

    def __call__(self, X: Array) -> Array:
        return self.requant(X, np.asarray(self.mul), np.asarray(self.add))

    def __str__(self) -> str:
        return f"(x * {self.mul} + {self.add}) to {self.requant}"


UNCHANGED = Scaling(1, 0, full_range(0, "int32"))
"""For what stays as it is."""
