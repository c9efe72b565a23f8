from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import GateFunction
from tilewright.ops._recurrent import Positions, Recurrent, RecurrentImport
from tilewright.ops.rnncells import RNNCells
from tilewright.records import dataclass


@dataclass(frozen=True)
class RNN(Recurrent):
    """The plain recurrent layer. Becomes a product of all steps and RNNCells."""

    gates: ClassVar[int] = 1
    defaults: ClassVar[tuple[str, ...]] = ("Tanh",)
    positions: ClassVar[Positions] = {"X": 0, "W": 1, "R": 2, "B": 3, "N": 4, "H": 5}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return RecurrentImport(cls, node, emit, cls.positions).outputs()

    @classmethod
    def cells(cls, node: OnnxNode, functions: tuple[GateFunction, ...], reverse: bool, clip: float) -> Cells:
        return RNNCells(functions, reverse, clip)
