"""LSTM and GRU cells from floats to integers: for whoever knows the ranges of a layer's input, output and memory.

An ONNX file between QuantizeLinear and DequantizeLinear means float cells, whose state is not rounded from step to
step; it is computed so. Integers throughout are another network, which a quantiser chooses and whose error it measures.
"""

from __future__ import annotations

import math

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.op import Emit
from tilewright.ir.requant import fixed_point, full_range
from tilewright.ir.types import Array
from tilewright.ops._gate_functions import SIGMOID, TANH
from tilewright.ops._gate_tables import GATE_BITS, SUM_BITS, table_of
from tilewright.ops._scaling import Scaling
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlineargrucells import QLinearGRUCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.records import dataclass


@dataclass(frozen=True)
class Bytes:
    """int8 values that stand for (value - zero) * scale."""

    scale: float
    zero: int = 0


@dataclass(frozen=True)
class Weights:
    """Of one direction of a layer: for X, for the state, and biases of the sums of both."""

    W: Array
    R: Array
    B: Array


@dataclass(frozen=True)
class _Products:
    """Totals of all steps, and what cells need to make sums of totals and of products of their own."""

    totals: str
    constants: list[str]
    shifts: tuple[int, int, int, int]


def emit_quantised_lstm(
    emit: Emit, op: LSTMCells, x: str, weights: Weights, x_format: Bytes, h_format: Bytes, memory: float
) -> tuple[str, ...]:
    """The product of all steps and the cells; `memory` is the largest size of a value in c.

    Results are the outputs, the last of them and the last memory, as integers."""
    if op.functions != (SIGMOID, TANH, TANH) or op.clip or op.dynamic:
        raise Refusal("cells of integers have sigmoid and tanh alone, without a clip")
    made = _products(emit, x, weights, x_format, h_format)
    cell_bits = min(SUM_BITS, 15 - math.ceil(math.log2(max(memory, 1.0))))
    out = _output(2 * GATE_BITS, h_format)
    cells = QLinearLSTMCells((), op.reverse, 0.0, *made.shifts, out, cell_bits, op.input_forget)
    return tuple(emit(cells, [made.totals, *made.constants]))


def emit_quantised_gru(
    emit: Emit, op: GRUCells, x: str, weights: Weights, state_bias: Array, x_format: Bytes, h_format: Bytes
) -> tuple[str, ...]:
    """The same; `state_bias` is the hidden gate's, which is reset with its product.

    Results are the outputs, the last of them and the last state, as integers."""
    if op.functions != (SIGMOID, TANH) or op.clip or not op.linear_before_reset:
        raise Refusal("cells of integers have sigmoid and tanh alone, without a clip, and products before the reset")
    added = np.concatenate([np.zeros(2 * len(state_bias)), state_bias])
    made = _products(emit, x, weights, x_format, h_format, added)
    cells = QLinearGRUCells((), op.reverse, 0.0, *made.shifts, _output(GATE_BITS, h_format))
    return tuple(emit(cells, [made.totals, *made.constants]))


def _products(
    emit: Emit, x: str, weights: Weights, x_format: Bytes, h_format: Bytes, state_bias: Array | float = 0.0
) -> _Products:
    (w, w_scale), (r, r_scale) = _rows(weights.W), _rows(weights.R)
    bias = _totals(weights.B / (x_format.scale * w_scale))
    offsets = _totals(state_bias / (h_format.scale * r_scale) - h_format.zero * r.astype(np.int64).sum(axis=1))
    product = MatMul(trans_b=True, a_zero=x_format.zero)
    (totals,) = emit(product, [x, emit.constant(w, "W"), emit.constant(bias, "B")])
    seen = bias - x_format.zero * w.astype(np.int64).sum(axis=1)
    x_factors, x_up, x_down = _factors(x_format.scale * w_scale, w, seen)
    r_factors, r_up, r_down = _factors(h_format.scale * r_scale, r, offsets)
    named = {"R": r, "x_factors": x_factors, "r_factors": r_factors, "sigmoid": table_of("Sigmoid")}
    named |= {"tanh": table_of("Tanh"), "state_bias": offsets}
    constants = [emit.constant(array, name) for name, array in named.items()]
    return _Products(totals, constants, (x_up, x_down, r_up, r_down))


def _output(bits: int, h: Bytes) -> Scaling:
    """From a value with so many bits behind the point to an output."""
    mul, shift = fixed_point(2.0**-bits / h.scale)
    return Scaling(int(mul[0]), 0, full_range(shift, "int8", h.zero))


def _totals(values: Array) -> Array:
    return np.clip(np.rint(values), -(2.0**31), 2.0**31 - 1).astype(np.int32)


def _rows(weights: Array) -> tuple[Array, Array]:
    """int8 weights with a scale for each row."""
    scale = np.maximum(np.abs(weights).max(axis=1), 1e-9).astype(np.float64) / 127
    return np.rint(weights / scale[:, None]).astype(np.int8), scale


def _factors(scale: Array, weights: Array, offsets: Array) -> tuple[Array, int, int]:
    """Factors from totals to sums, and how far to shift before and after: after by more than 32 bits if totals, of
    which the largest is known, have room for that; kernels are faster then."""
    factors, down = fixed_point(scale * 2**SUM_BITS)
    largest = float((128 * np.abs(weights.astype(np.int64)).sum(axis=1) + np.abs(offsets)).max())
    up = max(0, 33 - down)
    return (factors, up, down + up) if largest * 2**up < 2**31 else (factors, 0, down)
