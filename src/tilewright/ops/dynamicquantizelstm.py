from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import GateFunction
from tilewright.ops._recurrent import Recurrent, RecurrentImport
from tilewright.ops.add import Add
from tilewright.ops.div import Div
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mul import Mul
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.round import Round
from tilewright.ops.sub import Sub
from tilewright.records import dataclass

WEIGHTS = {1: ("W", 8, 9), 2: ("R", 10, 11)}
"""Position -> name, and the positions of scale and zero point."""


@dataclass(frozen=True)
class DynamicQuantizeLSTM(Recurrent):
    """ONNX Runtime's LSTM with int8 weights: what they are multiplied by is rounded to the 256 steps of its own range,
    X as a whole, and the state anew at each step. Becomes a product of all steps and LSTMCells."""

    gates: ClassVar[int] = 4
    defaults: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh", "Tanh")

    @classmethod
    def cells(cls, node: OnnxNode, functions: tuple[GateFunction, ...], reverse: bool, clip: float) -> Cells:
        return LSTMCells(functions, reverse, clip, bool(node.attribute("input_forget", 0)), dynamic=True)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        inputs, constants, types = list(node.inputs), list(node.constants), list(node.types)
        for position in WEIGHTS:
            constants[position] = _dequantised(node, position)
            inputs[position] = emit.constant(np.asarray(constants[position]), node.inputs[position])
            types[position] = emit.type_of(inputs[position])
        inputs[0] = rounded(inputs[0], emit)
        constants[0] = None
        return RecurrentImport(
            cls,
            replace(node, inputs=tuple(inputs), constants=tuple(constants), types=tuple(types)),
            emit,
            cls.positions,
        ).outputs()


def _dequantised(node: OnnxNode, position: int) -> Array:
    """Weights as floats, in the order of ONNX's LSTM: (directions, gates, inputs)."""
    name, scale_at, zero_at = WEIGHTS[position]
    values, scale = node.constant(position, name), node.constant(scale_at, f"{name}_scale")
    zero = node.constant(zero_at, f"{name}_zero_point")
    if values is None or scale is None or values.ndim != 3:
        raise Refusal(f"{name} or {name}_scale is missing, or {name} has not three axes")
    shape = (values.shape[0], 1, -1)
    centred = values.astype(np.int32) - (0 if zero is None else zero.astype(np.int32).reshape(shape))
    return np.ascontiguousarray((centred * scale.reshape(shape)).astype(np.float32).swapaxes(1, 2))


def rounded(x: str, emit: Emit) -> str:
    """A tensor rounded to 256 steps from its smallest to its largest value, of which one is zero."""
    axes = tuple(range(len(emit.type_of(x).shape)))
    zero, steps, least = (emit.constant(np.float32(value).reshape(1)) for value in (0.0, 255.0, 2.0**-120))
    (low,) = emit(Min(), [emit(ReduceMin(axes), [x])[0], zero])
    (high,) = emit(Max(), [emit(ReduceMax(axes), [x])[0], zero])
    (scale,) = emit(Div(), [emit(Sub(), [high, low])[0], steps])
    (scale,) = emit(Max(), [scale, least])
    (first,) = emit(Round(), [emit(Div(), [low, scale])[0]])
    (last,) = emit(Add(), [first, steps])
    (whole,) = emit(Round(), [emit(Div(), [x, scale])[0]])
    (kept,) = emit(Min(), [emit(Max(), [whole, first])[0], last])
    return emit(Mul(), [kept, scale])[0]
