from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import GateFunction
from tilewright.ops._recurrent import Recurrent, RecurrentImport
from tilewright.ops.lstmcells import LSTMCells
from tilewright.records import dataclass


@dataclass(frozen=True)
class LSTM(Recurrent):
    """Long short-term memory. Becomes a product of all steps and LSTMCells."""

    gates: ClassVar[int] = 4
    defaults: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh", "Tanh")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return RecurrentImport(cls, node, emit, cls.positions).outputs()

    @classmethod
    def cells(cls, node: OnnxNode, functions: tuple[GateFunction, ...], reverse: bool, clip: float) -> Cells:
        return LSTMCells(functions, reverse, clip, bool(node.attribute("input_forget", 0)))
