from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._arithmetic import chain, in_one_type
from tilewright.ops._elementwise import NUMBERS, Binary, by_extreme
from tilewright.records import dataclass


@dataclass(frozen=True)
class Min(Binary):
    """The smaller of a and b; NaN if either is. ONNX's more than two operands are a chain."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS

    def numpy(self, A: Array, B: Array) -> Array:
        return np.minimum(A, B)

    def gradients(self, at: Adjoint) -> Gradients:
        return {name: by_extreme(at, name) for name in at.wanted}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return chain(cls(), in_one_type(node, emit), node.outputs, emit)
