"""Quotients of bytes: a table of all pairs, whose entries are what TensorFlow Lite's kernels give."""

from __future__ import annotations

import numpy as np

from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import activation_of, clamp, operand, result
from tilewright.ir import tflite_fixed_point as fixed_point
from tilewright.ir.tflite_rounding import divided_by_power, high_product, multiplier
from tilewright.ir.types import Array, limits
from tilewright.ops.add import Add
from tilewright.ops.gather import Gather
from tilewright.ops.lookup import ENTRIES, Lookup

BITS = 31


def quotient(node: Node) -> str:
    """By 0, which stops TensorFlow Lite or gives anything there, the end of the range on the dividend's side. Quotients
    far below half a step are 0; TensorFlow Lite shifts them by more bits than there are, and gives anything too."""
    levels = np.arange(ENTRIES) + limits(node.dtype())[0]
    if (divisor := node.value(1)) is not None and divisor.size == 1:
        table = _quotients(node, levels, divisor.reshape(1))[:, 0]
        return node.emit(Lookup(), node.input(0), node.add_constant(table, "quotients"))
    table = _quotients(node, levels, levels).reshape(-1)
    # One table of 65,536 entries: a row for each dividend.
    rows, columns = ENTRIES * np.arange(ENTRIES, dtype=np.int32), np.arange(ENTRIES, dtype=np.int32)
    row = node.emit(Lookup(), node.input(0), node.add_constant(rows, "rows"))
    column = node.emit(Lookup(), node.input(1), node.add_constant(columns, "columns"))
    return node.emit(Gather(), node.add_constant(table, "quotients"), node.emit(Add(), row, column))


def _quotients(node: Node, dividends: Array, divisors: Array) -> Array:
    """[dividends, divisors] in the result's type."""
    (a_scale, a_zero), (b_scale, b_zero), (scale, zero, dtype) = operand(node, 0), operand(node, 1), result(node)
    # The scales of floats are divided as floats.
    mul, exponent = multiplier(float(np.float32(a_scale) / (np.float32(b_scale) * np.float32(scale))))
    a, b = np.meshgrid(dividends.astype(np.int64) - a_zero, divisors.astype(np.int64) - b_zero, indexing="ij")
    a, b = np.where(b < 0, -a, a), np.abs(b)
    inverse, over = _reciprocal(np.maximum(b, 1))
    headroom = BITS - _bits(np.abs(a) - (a < 0))
    unscaled = high_product(a << headroom, inverse)
    made = divided_by_power(high_product(unscaled, mul), over + headroom - exponent) + zero
    low, high = clamp(activation_of(node), scale, zero, dtype)
    without = np.where(a < 0, low, np.where(a > 0, high, zero))
    return np.clip(np.where(b == 0, without, made), low, high).astype(dtype)


def _reciprocal(value: Array) -> tuple[Array, Array]:
    """1 / x of numbers from 1 on, of 31 fractional bits, and by how many powers of two it is too large."""
    zeros = BITS + 1 - _bits(value)
    return fixed_point.one_over_one_plus((value << zeros) - (1 << BITS)), BITS - zeros


def _bits(value: Array) -> Array:
    """How many bits a number has."""
    return np.where(value > 0, np.floor(np.log2(np.maximum(value, 1))).astype(np.int64) + 1, 0)
