"""Kernels of the cells of recurrent layers: all cores together, each with some of the hidden units."""

from __future__ import annotations

from tilewright.ops._cells import Cells
from tilewright.ops._quantised_cells import QuantisedCells
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.qlineargrucells import QLinearGRUCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.ops.rnncells import RNNCells
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.recurrent import GRU, LSTM, QGRU, QLSTM, RNN
from tilewright.targets.generic.sizes import in_c
from tilewright.targets.pulp.sizes import in_c as shared_in_c


def cells(op: type[Cells], source: str, signature: str, scratch: str) -> Kernel:
    return Kernel(
        op, source, signature, {}, scratch=in_c(scratch), cooperative=True, header="recurrent.h",
        work=shared_in_c.work("tw_cells_shared_work", op.gates),
    )  # fmt: skip


def quantised(op: type[QuantisedCells], source: str, signature: str) -> Kernel:
    return Kernel(
        op, source, signature, {}, scratch=in_c("tw_qlstm_scratch"), cooperative=True, header="qlstm.h",
        work=shared_in_c.work("tw_qcells_shared_work", op.gates),
    )  # fmt: skip


KERNELS = (
    cells(LSTMCells, "lstm_cells_shared.c", LSTM, "tw_lstm_scratch"),
    cells(GRUCells, "gru_cells_shared.c", GRU, "tw_gru_scratch"),
    cells(RNNCells, "rnn_cells_shared.c", RNN, "tw_rnn_scratch"),
    quantised(QLinearLSTMCells, "qlstm_cells_shared.c", QLSTM),
    quantised(QLinearGRUCells, "qgru_cells_shared.c", QGRU),
)
