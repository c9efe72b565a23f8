"""Recurrent cells step by step are the cells."""

from __future__ import annotations

import numpy as np
import pytest

from tests.training import derivatives
from tests.training.networks import real
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Node
from tilewright.ir.types import Array, type_of
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import SIGMOID, GateFunction
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.rnncells import RNNCells
from tilewright.training.cells import unrolled
from tilewright.training.differentiate import gradients

pytestmark = pytest.mark.fast

STEPS, BATCH, HIDDEN = 4, 3, 2
LENGTHS = np.array([4, 2, 0], np.int32)
STATE = (BATCH, HIDDEN)


def lstm(**given: Array) -> dict[str, Array]:
    return {"X": real(STEPS, BATCH, 4 * HIDDEN), "R": real(4 * HIDDEN, HIDDEN), **given}


def gru(**given: Array) -> dict[str, Array]:
    return {"X": real(STEPS, BATCH, 3 * HIDDEN), "R": real(3 * HIDDEN, HIDDEN), **given}


CURVES = (SIGMOID, GateFunction("ScaledTanh", 1.5, 0.5), GateFunction("Softsign"))
CASES: list[tuple[Cells, dict[str, Array]]] = [
    (LSTMCells(), lstm()),
    (LSTMCells(reverse=True), lstm(H=real(*STATE), C=real(*STATE), P=real(3 * HIDDEN))),
    (LSTMCells(CURVES, clip=0.3, input_forget=True), lstm(N=LENGTHS)),
    (GRUCells(), gru(H=real(*STATE))),
    (GRUCells(linear_before_reset=True, reverse=True), gru(B=real(HIDDEN), N=LENGTHS)),
    (RNNCells((GateFunction("Relu"),)), {"X": real(STEPS, BATCH, HIDDEN), "R": real(HIDDEN, HIDDEN)}),
]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("op", "given"), CASES, ids=[str(op) for op, _ in CASES])
def test_steps(op: Cells, given: dict[str, Array]) -> None:
    builder = Builder("steps")
    for name, array in given.items():
        builder.input(name, type_of(array))
    names = tuple(name if name in given else "" for name in (operand.rstrip("?") for operand in op.operands))
    while not names[-1]:
        names = names[:-1]
    assert unrolled(builder, Node("cells", op, names, op.results))
    (loss,) = builder(ReduceSum((0, 1, 2), False), ["Y"])
    wanted = [name for name in given if name != "N"]
    found = gradients(builder, loss, wanted)
    for name in (*op.results, loss, *found.values()):
        builder.output(name)
    graph = builder.build()
    values = evaluate(graph, given)
    expected = op.numpy(*(given.get(name) if name else None for name in names))
    for name, array in zip(op.results, expected, strict=True):
        np.testing.assert_allclose(values[name], array, rtol=1e-5, atol=1e-6)
    exact = derivatives.evaluated(graph, given)
    for name in wanted:
        way = np.random.default_rng(2).normal(size=given[name].shape)
        moved = [given[name] + sign * 1e-6 * way for sign in (1, -1)]
        sides = [derivatives.evaluated(graph, {**given, name: point})[loss] for point in moved]
        slope = float(sides[0] - sides[1]) / 2e-6
        np.testing.assert_allclose(float((exact[found[name]] * way).sum()), slope, rtol=1e-5, atol=1e-7)
