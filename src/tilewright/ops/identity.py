from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops._elementwise import Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Identity(Unary):
    """The same tensor; with `copy` in other bytes."""

    accepts: ClassVar[frozenset[str] | None] = None
    elementwise: ClassVar[bool] = False
    copy: bool = False

    @property
    def view(self) -> bool:  # type: ignore[override]
        return not self.copy

    def numpy(self, X: Array) -> Array:
        return X.copy()

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient}

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        return cls(), node.inputs
