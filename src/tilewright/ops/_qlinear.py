"""Operators that carry scales and zero points along stand for: dequantise, compute in floats, quantise.

Both ways of writing a quantised network become the same graph like this, and one pass makes it integer again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops import find
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.quantizelinear import QuantizeLinear


def dequantise(node: OnnxNode, emit: Emit, position: int, axis: int = 0) -> str:
    """The float tensor that three inputs from `position` on stand for: values, scale, zero point."""
    inputs = _triple(node, emit, position, node.type(position).dtype, (position + 1, position + 2))
    return emit(DequantizeLinear(axis), inputs)[0]


def quantise(node: OnnxNode, emit: Emit, tensor: str, position: int, dtype: str = "") -> Sequence[str]:
    """The node's output: a float tensor quantised by the scale and the zero point from `position` on."""
    dtype = dtype or node.type(0).dtype
    scale, zero = _triple(node, emit, 0, dtype, (position, position + 1))[1:]
    return emit(QuantizeLinear(), [tensor, scale, zero], node.outputs)


def float_node(node: OnnxNode, emit: Emit, kind: str, inputs: Sequence[str], **attributes: object) -> str:
    """The result of a float operator with this node's attributes, or with those given."""
    operator = find(kind)
    if operator is None:
        raise Refusal(f"operator {kind}, which {node.kind} stands for, is not supported")
    inner = replace(
        node, kind=kind, domain="", inputs=tuple(inputs), outputs=(emit.fresh(f"{node.name}_float"),),
        types=tuple(emit.type_of(name) if name else None for name in inputs), constants=(None,) * len(inputs),
        attributes=dict(attributes) or node.attributes,
    )  # fmt: skip
    return operator.expand(inner, emit)[0]


def expand_binary(node: OnnxNode, emit: Emit, op: Op) -> Sequence[str]:
    """A, its scale and zero point, B, its scale and zero point, the result's scale and zero point."""
    a, b = dequantise(node, emit, 0), dequantise(node, emit, 3)
    return quantise(node, emit, emit(op, [a, b])[0], 6)


def expand_unary(node: OnnxNode, emit: Emit, kind: str, **attributes: object) -> Sequence[str]:
    """X, its scale and zero point, the result's scale and zero point."""
    return quantise(node, emit, float_node(node, emit, kind, [dequantise(node, emit, 0)], **attributes), 3)


def refuse_channels_last(node: OnnxNode) -> None:
    if node.attribute("channels_last", 0):
        raise Refusal("channels_last is not supported", "quantise the model before layout optimisation")


def _triple(node: OnnxNode, emit: Emit, position: int, dtype: str, rest: tuple[int, int]) -> list[str]:
    scale, zero = rest
    if not node.has(scale):
        raise Refusal(f"input {scale} (a scale) is missing")
    if len(node.type(scale).shape) > 1:
        raise Refusal(
            f"a scale of shape {node.type(scale).shape} is not supported", "quantise per tensor or per channel"
        )
    absent = not node.has(zero)
    zeros = emit.constant(np.zeros(node.type(scale).shape, dtype), f"{node.name}_zero_point") if absent else ""
    return [node.inputs[position], node.inputs[scale], zeros or node.inputs[zero]]


def dequantise_bias(node: OnnxNode, emit: Emit, position: int, scales: tuple[int, int], factor: float = 1.0) -> str:
    """An int32 bias, whose scale is the product of two others and a factor, and whose zero point is 0."""
    left, right = (node.constant(at, "a scale") for at in scales)
    if left is None or right is None:
        raise Refusal("a scale is missing")
    product = np.asarray(factor * left.reshape(-1) * right.reshape(-1), np.float32)
    scale = emit.constant(product, f"{node.name}_bias_scale")
    zero = emit.constant(np.zeros(product.shape, np.int32), f"{node.name}_bias_zero_point")
    axis = max(node.rank(position) - 1, 0)
    return emit(DequantizeLinear(axis), [node.inputs[position], scale, zero])[0]


def reach(dtype: str, zero: int) -> int:
    """How far a quantised value can be from its zero point."""
    low, high = limits(dtype)
    return max(zero - low, high - zero)


def mean(total: Array, count: Array, mul: int, requant: Requant) -> Array:
    """clamp(round(total * mul / (count * 2**shift)) + zero_point), ties to even or away from 0;
    no elements have the mean 0.

    An exact division: the means of integers are often ties, which a rounded reciprocal would take to one side.
    """
    divisor = np.maximum(count, 1).astype(np.int64) << requant.shift
    quotient, rest = np.divmod(total.astype(np.int64) * mul, divisor)
    up = quotient >= 0 if requant.rounding == Rounding.HALF_AWAY else quotient % 2 == 1
    rounded = quotient + ((2 * rest > divisor) | ((2 * rest == divisor) & up))
    return np.asarray(np.clip(rounded + requant.zero_point, requant.low, requant.high), requant.dtype)


def check_mean(dtype: str, zero: int, count: int, mul: int, requant: Requant) -> None:
    if count * reach(dtype, zero) >= 2**31:
        raise Refusal(f"the sum of {count} elements of {dtype} may overflow 32 bits")
    if abs(mul) >= 2**31 or max(count, 1) << requant.shift >= 2**62:
        raise Refusal(f"the mean of {count} elements times {mul} / 2**{requant.shift} overflows 64 bits")
