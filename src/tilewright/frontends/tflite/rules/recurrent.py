"""UNIDIRECTIONAL_SEQUENCE_LSTM of floats. Its state is a variable: it lasts from call to call, as in the runtimes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose

INPUT, FORGET, CELL, OUTPUT = range(4)
"""The gates in the order of the file."""
ORDER = (INPUT, OUTPUT, FORGET, CELL)
"""And in ONNX's."""
FROM_INPUT, FROM_STATE, PEEPHOLES, BIASES = 1, 5, 9, 12
"""The first operand of each kind."""
PROJECTION, OUTPUT_STATE, CELL_STATE, NORMS = 16, 18, 19, 20
TANH = 4
"""Of the functions that may be fused."""


def lstm(node: Node) -> Sequence[str]:
    _refuse(node)
    x = node.input(0) if node.option("TimeMajor") else node.emit(Transpose((1, 0, 2)), node.input(0))
    steps, batch, _ = node.scope.builder.types[x].shape
    hidden = len(node.constant(BIASES + FORGET, "the bias"))
    state, memory = (_state(node, position, (batch, hidden)) for position in (OUTPUT_STATE, CELL_STATE))
    given = [node.emit(Reshape((1, batch, hidden)), name) for name in (state, memory)]
    weights, recurrent = (_stacked(node, first, ORDER) for first in (FROM_INPUT, FROM_STATE))
    biases = np.concatenate([node.constant(BIASES + gate, "the bias") for gate in ORDER])
    both = node.add_constant(np.concatenate([biases, np.zeros_like(biases)])[None], "bias")
    y, h, c = node.onnx("LSTM", [x, weights, recurrent, both, "", *given, _peepholes(node)], 3, hidden_size=hidden)
    for position, after in ((OUTPUT_STATE, h), (CELL_STATE, c)):
        _set_next_state(node, position, node.emit(Reshape((batch, hidden)), after))
    rows = node.emit(Reshape((steps, batch, hidden)), y)
    return [rows if node.option("TimeMajor") else node.emit(Transpose((1, 0, 2)), rows)]


def _refuse(node: Node) -> None:
    kinds = {node.dtype(0), *(node.dtype(p) for p in range(FROM_INPUT, PEEPHOLES) if node.has(p))}
    if kinds != {"float32"}:
        raise Refusal(f"operands of {', '.join(sorted(kinds))}", "convert it with floats; ONNX's LSTM may be quantised")
    if not node.has(FROM_INPUT):
        raise Refusal("has no input gate (CIFG)", "convert an LSTM with all four gates")
    if node.has(PROJECTION):
        raise Refusal("has a projection", "convert an LSTM without one")
    if any(node.has(position) for position in range(NORMS, NORMS + 4)):
        raise Refusal("normalises its gates", "convert an LSTM without layer normalisation")
    if node.option("FusedActivationFunction", TANH) != TANH or node.option("CellClip", 0.0):
        raise Refusal("has another function than tanh, or clips", "convert a plain LSTM")


def _stacked(node: Node, first: int, gates: Sequence[int]) -> str:
    """The gates' weights as one matrix, for one direction."""
    parts = [node.constant(first + gate, "the weights") for gate in gates]
    return node.add_constant(np.concatenate(parts)[None], "weights")


def _peepholes(node: Node) -> str:
    """Of input, output and forget gate; the file has them in the order input, forget, output."""
    if not node.has(PEEPHOLES + 1):
        return ""
    parts = [node.constant(PEEPHOLES + place, "the peepholes") for place in (0, 2, 1)]
    return node.add_constant(np.concatenate(parts)[None], "peepholes")


def _state(node: Node, position: int, shape: tuple[int, int]) -> str:
    if not node.is_variable(position):
        return node.input(position)
    builder = node.scope.builder
    return builder.state(node.declared_name(position), np.zeros(shape, np.float32))


def _set_next_state(node: Node, position: int, tensor: str) -> None:
    if node.is_variable(position):
        node.scope.builder.set_next_state(node.declared_name(position), tensor)


RULES = {"UNIDIRECTIONAL_SEQUENCE_LSTM": lstm}
