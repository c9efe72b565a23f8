from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array, TensorType
from tilewright.ops._arithmetic import in_one_type
from tilewright.ops._elementwise import Elementwise, same_types
from tilewright.records import dataclass


@dataclass(frozen=True)
class Where(Elementwise):
    """a where c holds, else b."""

    operands: ClassVar[tuple[str, ...]] = ("C", "A", "B")

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["C"].dtype != "bool":
            raise Refusal(f"the condition is {types['C'].dtype}", "insert a Cast to bool")
        same_types({name: types[name] for name in "AB"})

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (dtypes["A"],)

    def numpy(self, C: Array, A: Array, B: Array) -> Array:
        return np.where(C, A, B)

    def gradients(self, at: Adjoint) -> Gradients:
        condition, gradient = at["C"], at.gradient
        return {"A": condition.where(gradient, 0.0), "B": condition.where(0.0, gradient)}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return emit(cls(), in_one_type(node, emit, positions=(1, 2)), node.outputs)
