from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._arithmetic import widened
from tilewright.ops._elementwise import NUMBERS, Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Neg(Unary):
    """-x; the smallest integer of a type has no negative and stays as it is."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS

    def numpy(self, X: Array) -> Array:
        return -X

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": -at.gradient}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return emit(cls(), widened(node, emit), node.outputs)
