from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array, limits
from tilewright.ops._elementwise import NUMBERS, Unary
from tilewright.ops.identity import Identity
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.records import dataclass


@dataclass(frozen=True)
class Clip(Unary):
    """min(max(x, low), high); NaN stays NaN."""

    # The kernel's integer bounds are int64.
    accepts: ClassVar[frozenset[str] | None] = NUMBERS - {"uint64"}
    low: float | None = None
    high: float | None = None

    def bounds(self, dtype: str) -> tuple[float, float]:
        """Both bounds as values of an element type; its own limits where there is none."""
        is_float = dtype.startswith("float")
        least, most = (-math.inf, math.inf) if is_float else limits(dtype)
        low = least if self.low is None else min(max(self.low, least), most)
        high = most if self.high is None else min(max(self.high, least), most)
        return (low, high) if is_float else (math.ceil(low), math.floor(high))

    def numpy(self, X: Array) -> Array:
        low, high = (X.dtype.type(bound) for bound in self.bounds(X.dtype.name))
        return np.minimum(np.maximum(X, low), high)

    def gradients(self, at: Adjoint) -> Gradients:
        inside = at.gradient
        if self.low is not None:
            inside = inside.only_where(at["X"] > self.low)
        return {"X": inside if self.high is None else inside.only_where(at["X"] < self.high)}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        given = [at for at in (1, 2) if node.has(at)]
        if given and (node.type(0).dtype == "uint64" or any(node.constants[at] is None for at in given)):
            return _by_max_and_min(node, emit)
        return emit(cls(_bound(node, 1, "min"), _bound(node, 2, "max")), node.inputs[:1], node.outputs)


def _bound(node: OnnxNode, position: int, attribute: str) -> float | None:
    """From an input or, in old opsets, an attribute."""
    value = node.attribute(attribute) if attribute in node.attributes else node.scalar_at(position, attribute)
    if value is None:
        return None
    if not isinstance(value, int | float) or math.isnan(value):
        raise Refusal(f"{attribute} is {value}", "a bound is one number")
    return value


def _by_max_and_min(node: OnnxNode, emit: Emit) -> Sequence[str]:
    """Bounds that are tensors."""
    value = node.inputs[0]
    for at, op in ((1, Max()), (2, Min())):
        if node.has(at) and node.type(at).elements != 1:
            raise Refusal(f"bound '{node.inputs[at]}' has {node.type(at).elements} elements, one expected")
        if node.has(at):
            (value,) = emit(op, [value, node.inputs[at]])
    return emit(Identity(), [value], node.outputs)
