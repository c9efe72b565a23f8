"""Kernels of the cells of recurrent layers."""

from __future__ import annotations

from tilewright.ops._cells import Cells
from tilewright.ops._quantised_cells import QuantisedCells
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.qlineargrucells import QLinearGRUCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.ops.rnncells import RNNCells
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.sizes import in_c

LSTM = "X:float32 R:float32 H:float32 C:float32 N:int32 P:float32 S:float32 -> Y:float32 Yh:float32 Yc:float32"
GRU = "X:float32 R:float32 H:float32 N:int32 B:float32 S:float32 -> Y:float32 Yh:float32"
QLSTM = (
    "X:int32 R:int8 Mx:int32 Mr:int32 sigmoid:int16 tanh:int16 B:int32 H:int8 C:int16 N:int32 "
    "-> Y:int8 Yh:int8 Yc:int16"
)
QGRU = QLSTM.replace("H:int8 ", "")
RNN = "X:float32 R:float32 H:float32 N:int32 S:float32 -> Y:float32 Yh:float32"


def cells(op: type[Cells], source: str, signature: str, scratch: str) -> Kernel:
    work = in_c.work("tw_cells_work", op.gates)
    return Kernel(op, source, signature, {}, scratch=in_c(scratch), work=work, header="recurrent.h")


def quantised(op: type[QuantisedCells], source: str, signature: str) -> Kernel:
    work = in_c.work("tw_qcells_work", op.gates)
    return Kernel(op, source, signature, {}, scratch=in_c("tw_qlstm_scratch"), work=work, header="qlstm.h")


KERNELS = (
    cells(LSTMCells, "lstm_cells.c", LSTM, "tw_lstm_scratch"),
    cells(GRUCells, "gru_cells.c", GRU, "tw_gru_scratch"),
    cells(RNNCells, "rnn_cells.c", RNN, "tw_rnn_scratch"),
    quantised(QLinearLSTMCells, "qlstm_cells.c", QLSTM),
    quantised(QLinearGRUCells, "qgru_cells.c", QGRU),
)
