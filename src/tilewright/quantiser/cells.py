"""LSTM and GRU layers in integers: the product of all steps, and cells with tables for their functions.

An ONNX file has no such cells, so that a network that is to be written as one keeps them in floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from tilewright.errors import CompileError, Refusal, instance
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Emit
from tilewright.ir.types import Array, TensorType
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.matmul import MatMul
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.quantise.recurrent import Bytes, Weights, emit_quantised_gru, emit_quantised_lstm
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.linear import LinearLayer, linear_layer, takes_bias
from tilewright.quantiser.samples.samples import Feeds
from tilewright.quantiser.samples.stream import Walk
from tilewright.records import dataclass

OUTPUTS = Format("int8", (1 / 127,), (0,))
"""Outputs of cells lie between -1 and 1."""

LEAST_MEMORY = 1.0


@dataclass(frozen=True)
class CellLayer:
    """A product of all steps with weights, and the cells that read it."""

    product: LinearLayer
    cells: Node
    state_weights: Array
    state_bias: Array | None
    """Of a GRU's hidden gate: it is reset with its product."""

    @property
    def source(self) -> str:
        return self.product.source

    def emit(self, emit: Emit, levels: str, form: Format, memory: float) -> tuple[str, ...]:
        """The integer layer: outputs, the last of them, and the last memory."""
        x, h = Bytes(form.scale, form.zero), Bytes(OUTPUTS.scale, OUTPUTS.zero)
        rows = self.product.rows(self.product.weights)
        bias = np.zeros(len(rows), np.float32) if self.product.bias is None else self.product.bias
        weights = Weights(rows, self.state_weights, bias)
        if isinstance(self.cells.op, LSTMCells):
            return emit_quantised_lstm(emit, self.cells.op, levels, weights, x, h, memory)
        added = np.zeros(self.state_weights.shape[1]) if self.state_bias is None else self.state_bias
        return emit_quantised_gru(emit, instance(self.cells.op, GRUCells), levels, weights, added, x, h)


@dataclass(frozen=True)
class QuantisedCells:
    """A layer of cells with the formats that it works in."""

    layer: CellLayer
    x: TensorType
    form: Format
    memory: float

    @cached_property
    def graph(self) -> Graph:
        """The layer by itself, from levels to levels."""
        builder = Builder("cells")
        levels = builder.input("x", TensorType(self.form.dtype, self.x.shape))
        for tensor in self.layer.emit(builder, levels, self.form, self.memory):
            builder.output(tensor)
        return builder.build()

    def run(self, x: Array) -> tuple[Array, ...]:
        """The outputs of all steps and the last of them, as the floats that they stand for."""
        values = evaluate(self.graph, {"x": self.form.quantise(x)})
        found = [values[name].astype(np.float32) for name in self.graph.outputs[:2]]
        return tuple((value - OUTPUTS.zero) * np.float32(OUTPUTS.scale) for value in found)


def cell_layers(graph: Graph) -> dict[str, CellLayer]:
    """The layers that have an integer form, by the first result of their cells."""
    return {layer.cells.key: layer for layer in _found(graph)}


def _found(graph: Graph) -> Iterator[CellLayer]:
    for node in graph.nodes:
        layer = _layer(graph, node) if isinstance(node.op, LSTMCells | GRUCells) else None
        if layer is not None and _is_accepted(graph, layer):
            yield layer


def _layer(graph: Graph, node: Node) -> CellLayer | None:
    operands = node.operands()
    maker = graph.producers.get(operands["X"])
    product = linear_layer(graph, maker) if maker is not None and isinstance(maker.op, MatMul) else None
    state = graph.constants.get(operands.get("R", ""))
    if product is None or state is None or not takes_bias(product):
        return None
    if not is_only_reader(graph, node, operands["X"]) or not _starting_operands(graph, operands) <= {"X", "R", "B"}:
        return None
    bias = graph.constants.get(operands["B"]) if "B" in operands else None
    if "B" in operands and bias is None:
        return None
    return None if _gives_memory(graph, node) else CellLayer(product, node, state, bias)


def _starting_operands(graph: Graph, operands: Mapping[str, str]) -> set[str]:
    """Those that say more than states of zero to begin with, which exporters write as constants."""
    zero = {
        name for name, tensor in operands.items() if tensor in graph.constants and not graph.constants[tensor].any()
    }
    return {name for name in operands if name not in zero or name in ("X", "R", "B")}


def _gives_memory(graph: Graph, node: Node) -> bool:
    """Whether something reads the last memory of an LSTM, which has another format."""
    last = node.outputs[2:3] if isinstance(node.op, LSTMCells) else ()
    return any(name and (name in graph.consumers or name in graph.sinks) for name in last)


def _is_accepted(graph: Graph, layer: CellLayer) -> bool:
    kind = graph.types[layer.source]
    try:
        return bool(QuantisedCells(layer, kind, OUTPUTS, LEAST_MEMORY).graph.nodes)
    except (Refusal, CompileError):
        return False


def memories(graph: Graph, layers: Mapping[str, CellLayer], feeds: list[Feeds]) -> dict[str, float]:
    """The largest size of what each LSTM remembers, at any step."""
    found = dict.fromkeys(layers, LEAST_MEMORY)
    wanted = {key: layer for key, layer in layers.items() if isinstance(layer.cells.op, LSTMCells)}
    walk = Walk(graph)
    for one in feeds if wanted else []:
        values = walk.values(one)
        for node, _ in walk.steps(values):
            if node.key in wanted:
                found[node.key] = max(found[node.key], _largest_memory(wanted[node.key], values[node.inputs[0]]))
    return found


def _largest_memory(layer: CellLayer, totals: Array) -> float:
    """Step by step: whole layers give their last memory only."""
    order = range(len(totals) - 1, -1, -1) if getattr(layer.cells.op, "reverse", False) else range(len(totals))
    h = c = None
    largest = 0.0
    for step in order:
        _, h, c = layer.cells.op.numpy(totals[step : step + 1], layer.state_weights, h, c)
        largest = max(largest, float(np.abs(c).max(initial=0.0)))
    return largest
