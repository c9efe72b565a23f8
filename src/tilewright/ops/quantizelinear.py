from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array, TensorType, limits
from tilewright.ops._blocks import is_blocked, quantised_blocks
from tilewright.ops._per_axis import PerAxis, constant_axis
from tilewright.ops.cast import ONNX_TYPES
from tilewright.records import dataclass

DTYPES = frozenset({"int8", "uint8", "int16", "uint16"})


@dataclass(frozen=True)
class QuantizeLinear(PerAxis):
    """saturate(round_half_even(x / scale) + zero); what is not a number gives the lowest value."""

    operands: ClassVar[tuple[str, ...]] = ("X", "scale", "zero")

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if types["X"].dtype != "float32" or types["scale"].dtype != "float32":
            raise Refusal(f"X is {types['X'].dtype} and scale {types['scale'].dtype}; both should be float32")
        if types["zero"].dtype not in DTYPES:
            raise Refusal(f"quantises to {types['zero'].dtype}", f"supported: {', '.join(sorted(DTYPES))}")
        if types["zero"].elements != types["scale"].elements:
            raise Refusal(f"{types['scale'].elements} scales, but {types['zero'].elements} zero points")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (dtypes["zero"],)

    def numpy(self, X: Array, scale: Array, zero: Array) -> Array:
        low, high = limits(zero.dtype.name)
        offset = self.along(zero, X.ndim).astype(np.int32)
        value = np.rint(X / self.along(scale, X.ndim))
        value = np.where(value >= low - offset, np.minimum(value, (high - offset).astype(np.float32)), low - offset)
        return np.asarray(value.astype(np.int32) + offset, zero.dtype)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("saturate")
        if is_blocked(node):
            return quantised_blocks(node, emit)
        refuse_blocks(node)
        dtype = ONNX_TYPES.get(node.attribute("output_dtype", 0), "")
        if node.has(2):
            dtype = dtype or node.type(2).dtype
        zero = node.inputs[2] if node.has(2) else zeros_like_scale(node, emit, dtype or "uint8")
        if dtype and emit.type_of(zero).dtype != dtype:
            raise Refusal(f"output_dtype is {dtype}, but the zero point is {emit.type_of(zero).dtype}")
        return emit(cls(constant_axis(node)), [node.inputs[0], node.inputs[1], zero], node.outputs)


def refuse_blocks(node: OnnxNode) -> None:
    node.ignore("block_size")
    if node.attribute("precision", 0) not in (0, 1):
        raise Refusal("a precision other than float32 is not supported")
    if node.has(1) and len(node.type(1).shape) > 1:
        raise Refusal(f"scale has {len(node.type(1).shape)} axes", "quantise per tensor or per channel")


def zeros_like_scale(node: OnnxNode, emit: Emit, dtype: str) -> str:
    """The zero points that an ONNX node may leave out."""
    return emit.constant(np.zeros(node.type(1).shape, dtype), f"{node.name}_zero_point")
