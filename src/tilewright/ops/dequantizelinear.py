from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array, TensorType
from tilewright.ops._blocks import dequantised_blocks, is_blocked
from tilewright.ops._per_axis import PerAxis, constant_axis
from tilewright.ops.cast import type_named
from tilewright.ops.quantizelinear import DTYPES, refuse_blocks, zeros_like_scale
from tilewright.records import dataclass


@dataclass(frozen=True)
class DequantizeLinear(PerAxis):
    """(x - zero) * scale."""

    operands: ClassVar[tuple[str, ...]] = ("X", "scale", "zero")

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if types["X"].dtype not in DTYPES | {"int32"}:
            raise Refusal(f"X is {types['X'].dtype}", f"supported: {', '.join(sorted(DTYPES))} and int32")
        if types["scale"].dtype != "float32" or types["zero"].dtype != types["X"].dtype:
            raise Refusal(f"scale is {types['scale'].dtype} and zero {types['zero'].dtype}, X is {types['X'].dtype}")
        if types["zero"].elements != types["scale"].elements:
            raise Refusal(f"{types['scale'].elements} scales, but {types['zero'].elements} zero points")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def numpy(self, X: Array, scale: Array, zero: Array) -> Array:
        centred = X.astype(np.int64) - self.along(zero, X.ndim).astype(np.int64)
        return np.asarray(centred.astype(np.float32) * self.along(scale, X.ndim), np.float32)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if is_blocked(node):
            return dequantised_blocks(node, emit)
        refuse_blocks(node)
        wanted = node.attribute("output_dtype", 0)
        if wanted and type_named(wanted) != "float32":
            raise Refusal("dequantises to another type than float")
        zero = node.inputs[2] if node.has(2) else zeros_like_scale(node, emit, node.type(0).dtype)
        return emit(cls(constant_axis(node)), [node.inputs[0], node.inputs[1], zero], node.outputs)
