"""Recurrent layers: the product of all steps and the cells of one direction are one ONNX layer again."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.export.registry import rule
from tilewright.export.writer import NodeWriter
from tilewright.ir.graph import Node
from tilewright.ir.types import Array
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import ALPHAS, BETAS, GateFunction
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.matmul import MatMul
from tilewright.ops.rnncells import RNNCells

LAYERS = {"LSTMCells": "LSTM", "GRUCells": "GRU", "RNNCells": "RNN"}
OUTPUT_AXES = (1, 0, 0)
"""Where the axis of directions is in the outputs of all steps, and in the last states."""


@rule(LSTMCells, GRUCells, RNNCells)
def layer(to: NodeWriter, op: Cells) -> None:
    if getattr(op, "dynamic", False):
        raise Refusal(
            "a state that is quantised at each step cannot be exported", "export the network before it is quantised"
        )
    if not to.operand("R"):
        raise Refusal("cells without their matrix product cannot be exported", "export the graph before it is fitted")
    x, w, bias = _inputs(to, _product(to))
    inputs = [x, w, _direction(to, to.operand("R")), _biases(to, op, bias), to.operand("N"), *_states(to, op)]
    made = [to.to.fresh(f"{name}_direction") if name else "" for name in to.outputs]
    to.end(LAYERS[op.kind], inputs, made, **_attributes(to, op))
    axes = (to.integers((axis,), "direction") for axis in OUTPUT_AXES)
    for name, given, axis in zip(to.outputs, made, axes, strict=False):
        if name:
            to.give(name, "Squeeze", [given, axis])


def _product(to: NodeWriter) -> Node | None:
    """The matrix product that makes the cells' input, if nobody else reads it."""
    graph, tensor = to.to.graph, to.node.operands()["X"]
    maker = graph.producers.get(tensor)
    alone = graph.consumers[tensor] == [to.node] and tensor not in graph.sinks
    if maker is None or not alone or maker.op != MatMul(trans_b=True):
        return None
    x, w, *_ = (graph.types[name].shape for name in maker.inputs)
    bias = maker.operands().get("C", "")
    plain = not bias or graph.types[bias].shape == w[:1]
    return maker if len(x) == 3 and len(w) == 2 and plain else None


def _inputs(to: NodeWriter, product: Node | None) -> tuple[str, str, str]:
    """X, W and the bias of the product; where there is none, each gate takes its own column of X."""
    if product is None:
        return to.operand("X"), to.constant(np.eye(to.shape("X")[2], dtype=np.float32)[None], "w"), ""
    x, w, *bias = (to.to.names.get(name, name) for name in product.inputs)
    return x, _direction(to, w), bias[0] if bias else ""


def _direction(to: NodeWriter, tensor: str) -> str:
    """With an axis of one direction in front."""
    value: Array | None = to.to.graph.constants.get(tensor)
    if value is not None:
        return to.constant(value[None], "weights")
    return to.add("Unsqueeze", [tensor, to.integers((0,), "direction")])


def _biases(to: NodeWriter, op: Cells, bias: str) -> str:
    """Those of X, which may hold both, then those of the state: zero but for what is reset with its product."""
    inner = to.operand("B") if isinstance(op, GRUCells) else ""
    if not bias and not inner:
        return ""
    width = to.shape("X")[2]
    first = bias or to.constant(np.zeros(width, np.float32), "bias")
    rest = width - width // 3 if inner else width
    parts = [first, to.constant(np.zeros(rest, np.float32), "state_bias"), *([inner] if inner else [])]
    return _direction(to, to.add("Concat", parts, axis=0))


def _states(to: NodeWriter, op: Cells) -> list[str]:
    given = [to.operand("H")]
    if isinstance(op, LSTMCells):
        given += [to.operand("C"), to.operand("P")]
    return [_direction(to, tensor) if tensor else "" for tensor in given]


def _attributes(to: NodeWriter, op: Cells) -> dict[str, Any]:
    found: dict[str, Any] = {
        "hidden_size": op.hidden({"X": to.shape("X")}), "direction": "reverse" if op.reverse else "forward",
        "activations": [function.name for function in op.functions],
    }  # fmt: skip
    found |= _parameters(op.functions)
    found |= {"clip": op.clip} if op.clip else {}
    for name in ("input_forget", "linear_before_reset"):
        if getattr(op, name, False):
            found[name] = 1
    return found


def _parameters(functions: tuple[GateFunction, ...]) -> dict[str, list[float]]:
    alphas = [function.alpha for function in functions if function.name in ALPHAS]
    betas = [function.beta for function in functions if function.name in BETAS]
    return {name: values for name, values in (("activation_alpha", alphas), ("activation_beta", betas)) if values}
