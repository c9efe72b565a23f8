from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.requant import NO_CHANGE, Requant, shift_right
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._qlinear import expand_unary
from tilewright.ops.lookup import ENTRIES
from tilewright.records import dataclass

EXP_BITS = 24
"""exp(0) is 2**EXP_BITS in the table."""

NUMERATOR_BITS = 61
"""An element times the reciprocal of its sum stays below 2**NUMERATOR_BITS."""


@dataclass(frozen=True)
class QLinearSoftmax(Op):
    """Softmax of 8-bit integers by a table of exp(-d) for the distance d = max(x) - x to the largest element.

    y = clamp(round(table[d] * (numerator // sum(table[d])) / 2**shift) + zero_point)
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "table")
    roundings: ClassVar[frozenset[Rounding]] = PLAIN
    axis: int = 0
    numerator: int = 1
    requant: Requant = NO_CHANGE

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "table": (whole(ENTRIES),), "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{self.axis}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype not in ("int8", "uint8"):
            raise Refusal(f"X is {kind.dtype}; a table of exponentials needs int8 or uint8")
        if types["table"] != TensorType("int32", (ENTRIES,)):
            raise Refusal(f"the table is {types['table']}; {ENTRIES} entries of int32 are expected")
        if not 0 <= self.axis < len(kind.shape):
            raise Refusal(f"axis {self.axis} is outside a tensor of rank {len(kind.shape)}")
        if not 0 < self.numerator < 2**NUMERATOR_BITS:
            raise Refusal(f"numerator {self.numerator} has more than {NUMERATOR_BITS} bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array, table: Array) -> Array:
        wide = X.astype(np.int64)
        largest = wide.max(self.axis, keepdims=True, initial=-(2**15))
        powers = table[largest - wide].astype(np.int64)
        share = self.numerator // np.maximum(powers.sum(self.axis, keepdims=True), 1)
        value = shift_right(powers * share, self.requant.shift, self.requant.rounding) + self.requant.zero_point
        return np.asarray(np.clip(value, self.requant.low, self.requant.high), self.requant.dtype)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("opset", "axis")
        as_of = replace(node, opset=int(node.attribute("opset", node.opset)))
        return expand_unary(_as_computed(as_of, emit), emit, "Softmax", axis=node.attribute("axis", -1))


RESULT_SCALE = 3
"""Which input of the node it is."""


def _as_computed(node: OnnxNode, emit: Emit) -> OnnxNode:
    """With the scale that ONNX Runtime's kernel, which is all that defines the node, gives its result in: it has
    floor(1 / scale) levels to 1. (QuantizeLinear behind a Softmax has the scale that it says.)"""
    given = node.constant(RESULT_SCALE, "the result's scale")
    levels = np.floor(np.float32(1.0) / given) if given is not None and np.all(given > 0) else np.zeros(1)
    if given is None or not np.all(levels >= 1):
        return node
    inputs = [*node.inputs]
    inputs[RESULT_SCALE] = emit.constant(np.asarray(1.0 / levels, np.float32), f"{node.name}_scale")
    return replace(node, inputs=tuple(inputs))
