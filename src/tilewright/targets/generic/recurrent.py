"""Kernels of the cells of recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._cells import Cells
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.qlineargrucells import QLinearGRUCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.ops.rnncells import RNNCells
from tilewright.target.kernel import Kernel, Types

LSTM = "X:float32 R:float32 H:float32 C:float32 N:int32 P:float32 S:float32 -> Y:float32 Yh:float32 Yc:float32"
GRU = "X:float32 R:float32 H:float32 N:int32 B:float32 S:float32 -> Y:float32 Yh:float32"
QLSTM = (
    "X:int32 R:int8 Mx:int32 Mr:int32 sigmoid:int16 tanh:int16 B:int32 H:int8 C:int16 N:int32 "
    "-> Y:int8 Yh:int8 Yc:int16"
)
QGRU = QLSTM.replace("H:int8 ", "")
RNN = "X:float32 R:float32 H:float32 N:int32 S:float32 -> Y:float32 Yh:float32"


def scratch(op: Op, types: Types) -> int:
    """The state, twice what is multiplied, and gates: of one sequence, or of all where the state is reset before."""
    cells = cast(Cells, op)
    _, batch, width = types["X"].shape
    hidden = width // cells.gates
    if isinstance(op, LSTMCells) and op.dynamic:
        return 4 * (4 * batch * hidden + width)
    gates = width if isinstance(op, LSTMCells) else batch * width if isinstance(op, GRUCells) else 0
    return 4 * ((1 + cells.states) * batch * hidden + gates)


def quantised_scratch(op: Op, types: Types) -> int:
    """Sums of one sequence, the memory of all, and their outputs twice."""
    _, batch, width = types["X"].shape
    hidden = width // cast(Cells, op).gates
    all_units = batch * hidden
    return 4 * 4 * hidden + 4 * -(-all_units // 2) + 8 * -(-all_units // 4)


def cell_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call, steps of sequences, their gates, and their products."""
    width, rows = types["X"].shape[2], extents["t"] * extents["b"]
    products = width // cast(Cells, op).gates if "R" in types else 0
    return 1.0, float(rows), float(rows * width), float(rows * width * products)


def cells(op: type[Op], source: str, signature: str) -> Kernel:
    return Kernel(op, source, signature, {}, scratch=scratch, features=cell_features, header="recurrent.h")


def quantised(op: type[Op], source: str, signature: str) -> Kernel:
    return Kernel(op, source, signature, {}, scratch=quantised_scratch, features=cell_features, header="qlstm.h")


KERNELS = (
    cells(LSTMCells, "lstm_cells.c", LSTM),
    cells(GRUCells, "gru_cells.c", GRU),
    cells(RNNCells, "rnn_cells.c", RNN),
    quantised(QLinearLSTMCells, "qlstm_cells.c", QLSTM),
    quantised(QLinearGRUCells, "qgru_cells.c", QGRU),
)
