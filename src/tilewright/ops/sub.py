from __future__ import annotations

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._arithmetic import Arithmetic
from tilewright.records import dataclass


@dataclass(frozen=True)
class Sub(Arithmetic):
    """a - b."""

    def numpy(self, A: Array, B: Array) -> Array:
        return A.astype("int32") - B.astype("int32") if self.wide else A - B

    def gradients(self, at: Adjoint) -> Gradients:
        return {"A": at.gradient, "B": -at.gradient} if at.wants("B") else {"A": at.gradient}
