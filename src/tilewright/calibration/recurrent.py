"""Samples of the cells of recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.calibration.values import Sample, values
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
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


OTHERS = (cells, products_given)
