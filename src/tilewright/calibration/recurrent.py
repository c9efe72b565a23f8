"""Samples of the cells of recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.calibration.values import Sample, summands, values
from tilewright.ops._gate_tables import table_of
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.qlineargrucells import QLinearGRUCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.ops.rnncells import RNNCells

LAYERS = (
    (1, 1, 16), (4, 1, 8), (12, 1, 16), (6, 1, 20), (3, 4, 16), (8, 1, 32), (2, 2, 33), (4, 1, 40), (5, 1, 48),
    (3, 1, 64), (2, 3, 64), (1, 1, 72),
)  # fmt: skip
"""Steps, sequences, hidden units."""


def cells() -> Iterator[Sample]:
    for steps, batch, hidden in LAYERS:
        for op in (LSTMCells(), GRUCells(), GRUCells(linear_before_reset=True), RNNCells()):
            width = op.gates * hidden
            yield op, [values("float32", steps, batch, width) - 1, (values("float32", width, hidden) - 1) / hidden]


def products_given() -> Iterator[Sample]:
    """One step, with the products of the state computed before."""
    for batch, hidden in ((1, 16), (1, 64), (2, 40), (1, 128), (3, 200)):
        for op in (LSTMCells(), GRUCells(linear_before_reset=True), RNNCells()):
            width = op.gates * hidden
            given = {"X": values("float32", 1, batch, width) - 1, "S": values("float32", batch, width) - 1}
            yield op, [given.get(name.rstrip("?")) for name in op.operands]


def quantised_cells() -> Iterator[Sample]:
    for steps, batch, hidden in (*LAYERS, (2, 1, 128), (1, 1, 201), (2, 1, 34)):
        width = 4 * hidden
        constants = [values("int8", width, hidden), *(np.full(width, 2**29 + 1, np.int32) for _ in range(2))]
        tables = [table_of("Sigmoid"), table_of("Tanh"), summands(width)]
        yield (
            QLinearLSTMCells((), False, 0.0, 5, 36, 5, 36),
            [values("int32", steps, batch, width), *constants, *tables],
        )
        short = [array[: 3 * hidden] for array in constants]
        gru = QLinearGRUCells((), False, 0.0, 5, 36, 5, 36)
        yield gru, [values("int32", steps, batch, 3 * hidden), *short, *tables[:2], summands(3 * hidden)]


OTHERS = (cells, products_given, quantised_cells)
