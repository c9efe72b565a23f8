"""Kernels of the cells of recurrent layers: all cores together, each with some of the hidden units."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._cells import Cells
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.qlineargrucells import QLinearGRUCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.ops.rnncells import RNNCells
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.recurrent import GRU, LSTM, QGRU, QLSTM, RNN
from tilewright.targets.generic.sizes import in_c


def cell_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, steps, sequences, units of the core that has most; four rows of products or one, and their elements."""
    cells = cast(Cells, op)
    hidden = types["X"].shape[2] // cells.gates
    steps, rows = extents["t"], extents["t"] * extents["b"]
    own = up(hidden, cores)
    fours, ones = (own // 4, own % 4) if "R" in types else (0, 0)
    fours, ones = fours * cells.gates * rows, ones * cells.gates * rows
    return (
        1.0, float(steps), float(rows), float(own * rows), float(fours), float(ones), float(fours * hidden),
        float(ones * hidden),
    )  # fmt: skip


def quantised_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The same, with words of four products; those that are not aligned, and single products."""
    gates = cast(Cells, op).gates
    hidden, rows = types["X"].shape[2] // gates, extents["t"] * extents["b"]
    own = up(hidden, cores)
    fours, ones = gates * rows * (own // 4), gates * rows * (own % 4)
    words, rest = divmod(hidden, 4)
    return (
        1.0, float(extents["t"]), float(rows), float(own * rows), float(fours * words), float(ones * words),
        float((4 * fours + ones) * words * (rest > 0)), float((4 * fours + ones) * rest),
    )  # fmt: skip


def cells(op: type[Op], source: str, signature: str, scratch: str) -> Kernel:
    return Kernel(
        op, source, signature, {}, scratch=in_c(scratch), cooperative=True, features=cell_features,
        header="recurrent.h",
    )  # fmt: skip


def quantised(op: type[Op], source: str, signature: str) -> Kernel:
    return Kernel(
        op, source, signature, {}, scratch=in_c("tw_qlstm_scratch"), cooperative=True, features=quantised_features,
        header="qlstm.h",
    )  # fmt: skip


KERNELS = (
    cells(LSTMCells, "lstm_cells_shared.c", LSTM, "tw_lstm_scratch"),
    cells(GRUCells, "gru_cells_shared.c", GRU, "tw_gru_scratch"),
    cells(RNNCells, "rnn_cells_shared.c", RNN, "tw_rnn_scratch"),
    quantised(QLinearLSTMCells, "qlstm_cells_shared.c", QLSTM),
    quantised(QLinearGRUCells, "qgru_cells_shared.c", QGRU),
)
