from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import INTEGERS, as_int32, requant_of, whole_number
from tilewright.ops._elementwise import Elementwise
from tilewright.ops._scaling import UNCHANGED, Scaling
from tilewright.records import dataclass


@dataclass(frozen=True)
class RequantizedAdd(Elementwise):
    """out(first(a) + second(b)): each operand and the 32-bit sum are requantised."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")
    accepts = INTEGERS
    first: Scaling = UNCHANGED
    second: Scaling = UNCHANGED
    out: Scaling = UNCHANGED

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.out.requant.dtype,)

    def numpy(self, A: Array, B: Array) -> Array:
        return self.out(self.first(A).astype(np.int32) + self.second(B).astype(np.int32))

    def swapped(self) -> RequantizedAdd:
        return replace(self, first=self.second, second=self.first)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        op = cls(*(_scaling(node, prefix) for prefix in ("rqs1_", "rqs2_", "rqsOut_")))
        return emit(op, [as_int32(node, emit, position) for position in (0, 1)], node.outputs)


def _scaling(node: OnnxNode, prefix: str) -> Scaling:
    mul, add = whole_number(node, f"{prefix}mul"), whole_number(node, f"{prefix}add", 0)
    return Scaling(mul, add, requant_of(node, prefix))
