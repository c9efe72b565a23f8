"""Functions of 16-bit tensors, with the tables that TensorFlow Lite's kernels have for them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import operand, result
from tilewright.ir.tflite_rounding import multiplier
from tilewright.ir.types import Array, limits
from tilewright.ops import tflitesigmoid, tflitesoftmax16
from tilewright.ops.tflitesigmoid import MOST_MUL, TfliteSigmoid
from tilewright.ops.tflitesoftmax16 import TfliteSoftmax16

UNITS = 3.0 * 2.0**12
"""Of a position in the table of the logistic function: three quarters of a number with 12 fractional bits."""
RANGE = 2**16 - 1
DEEPEST = 10.0
"""Exponentials of what is further below a row's largest element are nothing."""


def _check(node: Node) -> None:
    scale, zero, dtype = result(node)
    if dtype != "int16" or zero or operand(node, 0)[1] or not math.isclose(scale, 2.0**-15, rel_tol=1e-3):
        raise Refusal(f"its result is {dtype} of scale {scale:g} and zero point {zero}, "
                      f"int16 of 1/32768 and 0 is expected", "quantise the model again")  # fmt: skip


# ---- logistic and tanh ----------------------------------------------------------------------------------------------


def sigmoid(node: Node, is_tanh: bool) -> str:
    _check(node)
    mul, shift = _units(operand(node, 0)[0], 1 if is_tanh else 0)
    if mul > MOST_MUL:
        raise Refusal(f"the scale of its operand is {operand(node, 0)[0]:g}, too large", "quantise the model again")
    return node.emit(TfliteSigmoid(mul, shift, is_tanh), node.input(0), node.add_constant(logistic_table(), "table"))


def logistic_table() -> Array:
    """Entries are half as much too high as the middle of a line between two exact values is too low; the last is 1."""
    at = np.arange(tflitesigmoid.ENTRIES)
    here, middle, there = (2.0**16 / (1.0 + np.exp((at + part) / -24.0)) for part in (0.0, 0.5, 1.0))
    table: Array = np.round(here + (middle - (here + there) / 2.0) / 2.0).astype(np.uint16)
    table[-1] = RANGE
    return table


def _units(scale: float, most: int) -> tuple[int, int]:
    """Multiplier and shift from the operand's unit to the table's; powers of two up to `most` are exact."""
    power = round(math.log2(scale)) + 12
    if 0 <= power <= most and abs(math.log2(scale) + 12 - power) < 1e-3:
        return 3 << power, 0
    factor, shift = scale * UNITS, 0
    while factor <= 32767.0 / 2.0 and shift <= 30:
        factor, shift = 2.0 * factor, shift + 1
    return int(factor), shift


# ---- softmax --------------------------------------------------------------------------------------------------------


def word_softmax(node: Node, beta: float) -> str:
    _check(node)
    mul, exponent = multiplier(np.float64(operand(node, 0)[0]) * np.float64(np.float32(beta)) / (DEEPEST / RANGE))
    tables = [node.add_constant(table, "table") for table in softmax_tables()]
    return node.emit(TfliteSoftmax16(mul, exponent, node.meant.integers), node.input(0), *tables)


def softmax_tables() -> tuple[Array, Array]:
    """Exponentials and reciprocals."""
    low, high = limits("int16")
    return _values(DEEPEST, high, np.exp), _values(1.0, low, lambda x: np.float32(1) / (np.float32(1) + x))


def _values(width: float, zero: int, function: Callable[[Array], Array]) -> Array:
    """A function of 2**16 positions, of which `zero` stands for 0, at every 128th of them. Entries are moved, so that
    the lines between them are as far off at their ends as in the middle."""
    low, high = limits("int16")
    scale, unit = np.float32(width / RANGE), np.float32(2.0 / RANGE)
    first, last = scale * np.float32(low - zero), scale * np.float32(high - zero)
    step = np.float32((last - first) / np.float32(tflitesoftmax16.ENTRIES - 1))
    inverse = np.float32(RANGE + 1) / (unit * np.float32(high) - unit * np.float32(low))
    at = first + np.arange(tflitesoftmax16.ENTRIES, dtype=np.float32) * step
    exact = function(at) * inverse
    middle = _rounded(function(at[:-1] + step / np.float32(2)) * inverse)
    bent = _rounded((exact[1:] + _rounded(exact[:-1])) / np.float32(2)) - middle
    end = _rounded(function(np.asarray(last)) * inverse)
    moved = np.append(_rounded(exact[:-1]) - _rounded(bent / np.float32(2)), end)
    return np.asarray(np.clip(moved, low, high), np.int16)


def _rounded(values: Array) -> Array:
    """To the nearest, ties away from zero."""
    return np.asarray(np.sign(values) * np.floor(np.abs(values) + np.float32(0.5)))
