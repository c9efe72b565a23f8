"""LSTM cells from floats to integers: for whoever knows the ranges of a layer's input, output and memory.

An ONNX file between QuantizeLinear and DequantizeLinear means float cells, whose state is not rounded from step to
step; it is computed so. Integers throughout are another network, which a quantiser chooses and whose error it measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.op import Emit
from tilewright.ir.requant import fixed_point, full_range
from tilewright.ir.types import Array
from tilewright.ops._gate_functions import SIGMOID, TANH
from tilewright.ops._gate_tables import GATE_BITS, SUM_BITS, table_of
from tilewright.ops._scaling import Scaling
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells


@dataclass(frozen=True)
class Bytes:
    """int8 values that stand for (value - zero) * scale."""

    scale: float
    zero: int = 0


@dataclass(frozen=True)
class Weights:
    """Of one direction of a layer: for X, for the state, and the sum of both biases."""

    W: Array
    R: Array
    B: Array


def emit_quantised_lstm(
    emit: Emit, op: LSTMCells, x: str, weights: Weights, x_format: Bytes, h_format: Bytes, memory: float
) -> tuple[str, ...]:
    """The product of all steps and the cells; `memory` is the largest size of a value in c.

    Results are the outputs, the last of them and the last memory, as integers."""
    _refuse_others(op)
    (w, w_scale), (r, r_scale) = _rows(weights.W), _rows(weights.R)
    bias = np.clip(np.rint(weights.B / (x_format.scale * w_scale)), -(2.0**31), 2.0**31 - 1).astype(np.int32)
    product = MatMul(trans_b=True, a_zero=x_format.zero)
    (totals,) = emit(product, [x, emit.constant(w, "W"), emit.constant(bias, "B")])
    offsets = _zero_point(r, h_format)
    x_factors, x_up, x_down = _factors(
        x_format.scale * w_scale, w, bias - x_format.zero * w.astype(np.int64).sum(axis=1)
    )
    r_factors, r_up, r_down = _factors(h_format.scale * r_scale, r, offsets)
    out, out_shift = fixed_point(2.0 ** (-2 * GATE_BITS) / h_format.scale)
    cell_bits = min(SUM_BITS, 15 - math.ceil(math.log2(max(memory, 1.0))))
    cells = QLinearLSTMCells(
        (), op.reverse, 0.0, x_up, x_down, r_up, r_down, cell_bits, op.input_forget,
        Scaling(int(out[0]), 0, full_range(out_shift, "int8", h_format.zero)),
    )  # fmt: skip
    constants = [r, x_factors, r_factors, table_of("Sigmoid"), table_of("Tanh"), offsets]
    names = ["R", "factors", "factors", "sigmoid", "tanh", "zero_point"]
    return tuple(emit(cells, [totals, *(emit.constant(*each) for each in zip(constants, names, strict=True))]))


def _refuse_others(op: LSTMCells) -> None:
    if op.functions != (SIGMOID, TANH, TANH) or op.clip or op.dynamic:
        raise Refusal("cells of integers have sigmoid and tanh alone, without a clip")


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


def _zero_point(r: Array, h: Bytes) -> Array:
    """What is added to products of the output as it is, so that they are those of what it stands for."""
    return (-h.zero * r.astype(np.int64).sum(axis=1)).astype(np.int32)
