from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import FLOATS, SIGNED, Binary, broadcast
from tilewright.records import dataclass


@dataclass(frozen=True)
class PRelu(Binary):
    """a, or slope b times a where a is negative; the slope is broadcast to the shape of a."""

    accepts: ClassVar[frozenset[str] | None] = FLOATS | SIGNED

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        x, slope = types["A"].shape, types["B"].shape
        if broadcast([x, slope]) != x:
            raise Refusal(f"slope of shape {slope} does not broadcast to {x}", "one slope per channel is [C, 1, 1]")

    def numpy(self, A: Array, B: Array) -> Array:
        return np.where(A < 0, A * B, A)

    def gradients(self, at: Adjoint) -> Gradients:
        x, found = at["A"], {"A": (at["A"] > 0.0).where(at.gradient, at.gradient * at["B"])}
        if at.wants("B"):
            found["B"] = (at.gradient * x).only_where(x < 0.0)
        return found
