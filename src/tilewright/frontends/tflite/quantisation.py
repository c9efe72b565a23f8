"""Scales, zero points and clamps of TensorFlow Lite's integer operators."""

from __future__ import annotations

import math

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.file import Quantisation
from tilewright.frontends.tflite.node import Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import factors
from tilewright.ir.types import Array, is_integer, limits

NONE, RELU, RELU_N1_TO_1, RELU6 = range(4)
"""Fused activations, by their numbers in the schema."""
BOUNDS = {NONE: (-math.inf, math.inf), RELU: (0.0, math.inf), RELU_N1_TO_1: (-1.0, 1.0), RELU6: (0.0, 6.0)}


def activation_of(node: Node) -> int:
    kind = int(node.option("FusedActivationFunction", NONE))
    if kind not in BOUNDS:
        names = {4: "TANH", 5: "SIGN_BIT"}
        raise Refusal(f"the fused activation {names.get(kind, f'number {kind}')} is not supported")
    return kind


def one_scale(given: Quantisation, what: str) -> tuple[float, int]:
    """Scale and zero point of a tensor that has one of each."""
    if len(given.scale) != 1:
        raise Refusal(f"{what} has {len(given.scale)} scales; one is expected", "quantise activations per tensor")
    return float(given.scale[0]), int(given.zero_point[0])


def operand(node: Node, position: int) -> tuple[float, int]:
    dtype = node.dtype(position)
    if not is_integer(dtype):
        raise Refusal(f"input {position} is {dtype}, beside integers with scales", "quantise the model again")
    scale, zero = one_scale(node.quantisation(position), f"input {position}")
    low, high = limits(dtype)
    if not low <= zero <= high:
        raise Refusal(f"input {position} is {dtype} with zero point {zero}", "quantise the model again")
    return scale, zero


def result(node: Node) -> tuple[float, int, str]:
    """Scale, zero point and element type of the result."""
    scale, zero = one_scale(node.result_quantisation(), "the result")
    dtype = node.result().dtype
    if dtype not in ("int8", "uint8", "int16"):
        raise Refusal(f"its result is {dtype}; int8, uint8 and int16 are supported")
    low, high = limits(dtype)
    if not low <= zero <= high:
        raise Refusal(f"its result is {dtype} with zero point {zero}", "quantise the model again")
    return scale, zero, dtype


def clamp(activation: int, scale: float, zero: int, dtype: str) -> tuple[int, int]:
    """What an activation leaves of a type's range; bounds are rounded to the nearest, ties away from zero."""
    least, most = BOUNDS[activation]
    low, high = limits(dtype)
    if math.isfinite(least):
        low = min(max(low, zero + round_away(float(np.float32(least) / np.float32(scale)))), high)
    if math.isfinite(most):
        high = max(min(high, zero + round_away(float(np.float32(most) / np.float32(scale)))), low)
    return low, high


def round_away(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def requantised(
    node: Node, scales: Array | float, rounding: Rounding, activation: int = NONE
) -> tuple[Requant, Array, Array | None]:
    """From totals whose unit is one of `scales` to the node's result: the type, and its operands mul and add."""
    scale, zero, dtype = result(node)
    low, high = clamp(activation, scale, zero, dtype)
    mul, add = factors(np.asarray(scales, np.float64) / np.float64(scale), rounding)
    return Requant(0, dtype, low, high, zero, rounding), mul, add


def reduced(mul: Array) -> Array:
    """Multipliers of 16 bits, as totals of 64 bits are scaled by."""
    short = np.where(mul < 0x7FFF0000, (mul.astype(np.int64) + (1 << 15)) >> 16, 0x7FFF)
    return (short << 16).astype(np.int32)
