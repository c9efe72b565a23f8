"""LSTM cells of integers stay near those of floats, and their C equals their meaning to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import check_graph
from tests.support.recurrent import floats
from tilewright import pipeline
from tilewright.errors import Refusal
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops._gate_functions import GateFunction
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.passes.fit.split_steps import can_be_split, can_multiply_apart, split_steps
from tilewright.passes.quantise.recurrent import Bytes, Weights, emit_quantised_gru, emit_quantised_lstm
from tilewright.program import Program

STEPS, BATCH, INPUTS, HIDDEN = 20, 2, 12, 24
X, H = Bytes(3 / 127, 5), Bytes(1 / 127, -1)


def layer(seed: int) -> Weights:
    random = np.random.default_rng(seed)
    scale = 1 / np.sqrt(HIDDEN)
    shapes = ((4 * HIDDEN, INPUTS), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,))
    return Weights(*(2 * scale * floats(random, *shape) for shape in shapes))


def inputs(seed: int) -> dict[str, Array]:
    return {"x": np.random.default_rng(seed).integers(-128, 128, (STEPS, BATCH, INPUTS)).astype(np.int8)}


def integers(op: LSTMCells, weights: Weights) -> Graph:
    builder = Builder("lstm")
    x = builder.input("x", TensorType("int8", (STEPS, BATCH, INPUTS)))
    for tensor in emit_quantised_lstm(builder, op, x, weights, X, H, 4.0):
        builder.output(tensor)
    return builder.build()


def as_floats(op: LSTMCells, weights: Weights, x: Array) -> tuple[Array, ...]:
    values = (x.astype(np.float32) - X.zero) * np.float32(X.scale)
    found: tuple[Array, ...] = op.numpy(values @ weights.W.T + weights.B, weights.R)
    return found


@pytest.mark.fast
@pytest.mark.parametrize("op", [LSTMCells(), LSTMCells(reverse=True), LSTMCells(input_forget=True)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_integers_stay_near_floats(op: LSTMCells, seed: int) -> None:
    weights = layer(seed)
    graph = integers(op, weights)
    feeds = inputs(seed)
    found = evaluate(graph, feeds)
    y, _, c = (found[name] for name in graph.outputs)
    wanted, _, memory = as_floats(op, weights, feeds["x"])
    error = (y.astype(np.float64) - H.zero) * H.scale - wanted
    assert np.abs(error).max() < 0.03
    assert np.abs(error).mean() < 0.006
    assert np.abs(c / 2.0**12 - memory).max() < 0.05


@pytest.mark.in_turns(3)
def test_its_c_is_exact() -> None:
    graph = integers(LSTMCells(), layer(1))
    check_graph(graph, inputs(1))


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", ["siracusa", "quad"])
def test_clusters_are_exact(target: str) -> None:
    program = Program(pipeline.compile_graph(integers(LSTMCells(), layer(2)), target), "", None, 0.0)
    assert program.check().agrees


def gru_network(weights: Weights, bias: Array) -> Graph:
    builder = Builder("gru")
    x = builder.input("x", TensorType("int8", (STEPS, BATCH, INPUTS)))
    op = GRUCells(linear_before_reset=True)
    for tensor in emit_quantised_gru(builder, op, x, weights, bias, X, H):
        builder.output(tensor)
    return builder.build()


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("seed", range(3))
def test_gru(seed: int) -> None:
    """Near the floats; and C that is exact."""
    full = layer(seed)
    weights, bias = Weights(*(each[: 3 * HIDDEN] for each in (full.W, full.R, full.B))), full.B[-HIDDEN:]
    graph = gru_network(weights, bias)
    found, feeds = evaluate(graph, inputs(seed)), inputs(seed)
    values = (feeds["x"].astype(np.float32) - X.zero) * np.float32(X.scale)
    wanted = GRUCells(linear_before_reset=True).numpy(values @ weights.W.T + weights.B, weights.R, None, None, bias)
    error = (found[graph.outputs[0]].astype(np.float64) - H.zero) * H.scale - wanted[0]
    assert np.abs(error).max() < 0.03
    assert np.abs(error).mean() < 0.006
    if seed == 0:
        check_graph(graph, feeds)


@pytest.mark.fast
@pytest.mark.parametrize("reverse", [False, True])
def test_steps_may_come_in_parts(reverse: bool) -> None:
    graph = integers(LSTMCells(reverse=reverse), layer(3))
    cells = next(node for node in graph.nodes if isinstance(node.op, QLinearLSTMCells))
    assert can_be_split(graph, cells)
    assert not can_multiply_apart(graph, cells)
    changed = split_steps(graph, {cells.key: 7})
    wanted, found = (evaluate(each, inputs(3)) for each in (graph, changed))
    for before, after in zip(graph.outputs, changed.outputs, strict=True):
        np.testing.assert_array_equal(found[after], wanted[before])


@pytest.mark.fast
def test_other_functions_are_refused() -> None:
    op = LSTMCells((GateFunction("HardSigmoid", 0.2, 0.5), GateFunction("Tanh"), GateFunction("Tanh")))
    with pytest.raises(Refusal, match="sigmoid and tanh alone"):
        integers(op, layer(1))
