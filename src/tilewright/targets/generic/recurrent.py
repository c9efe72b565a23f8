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
from tilewright.targets.generic.sizes import in_c

LSTM = "X:float32 R:float32 H:float32 C:float32 N:int32 P:float32 S:float32 -> Y:float32 Yh:float32 Yc:float32"
GRU = "X:float32 R:float32 H:float32 N:int32 B:float32 S:float32 -> Y:float32 Yh:float32"
QLSTM = (
    "X:int32 R:int8 Mx:int32 Mr:int32 sigmoid:int16 tanh:int16 B:int32 H:int8 C:int16 N:int32 "
    "-> Y:int8 Yh:int8 Yc:int16"
)
QGRU = QLSTM.replace("H:int8 ", "")
RNN = "X:float32 R:float32 H:float32 N:int32 S:float32 -> Y:float32 Yh:float32"


def cell_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call, steps of sequences, their gates, and their products."""
    width, rows = types["X"].shape[2], extents["t"] * extents["b"]
    products = width // cast(Cells, op).gates if "R" in types else 0
    return 1.0, float(rows), float(rows * width), float(rows * width * products)


def cells(op: type[Op], source: str, signature: str, scratch: str) -> Kernel:
    return Kernel(op, source, signature, {}, scratch=in_c(scratch), features=cell_features, header="recurrent.h")


def quantised(op: type[Op], source: str, signature: str) -> Kernel:
    return Kernel(op, source, signature, {}, scratch=in_c("tw_qlstm_scratch"), features=cell_features, header="qlstm.h")


KERNELS = (
    cells(LSTMCells, "lstm_cells.c", LSTM, "tw_lstm_scratch"),
    cells(GRUCells, "gru_cells.c", GRU, "tw_gru_scratch"),
    cells(RNNCells, "rnn_cells.c", RNN, "tw_rnn_scratch"),
    quantised(QLinearLSTMCells, "qlstm_cells.c", QLSTM),
    quantised(QLinearGRUCells, "qgru_cells.c", QGRU),
)
