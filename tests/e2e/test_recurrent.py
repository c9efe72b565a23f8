"""Recurrent networks and control flow on every kind of target, against ONNX Runtime and PyTorch."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

import tilewright as tw
from tests.support.models import model, node
from tests.support.recurrent import floats
from tilewright.ir.types import Array

TARGETS = ("generic", "siracusa", "quad")


def encoder() -> onnx.ModelProto:
    """Two bidirectional LSTMs, a GRU over what they give, and a classifier of its last state."""
    random = np.random.default_rng(4)
    sizes = {"w1": (2, 96, 10), "r1": (2, 96, 24), "b1": (2, 192), "w2": (2, 48, 48), "r2": (2, 48, 12), "b2": (2, 96)}
    sizes |= {"w3": (1, 60, 24), "r3": (1, 60, 20), "b3": (1, 120), "v": (20, 5)}
    constants: dict[str, Array] = {name: floats(random, *shape) for name, shape in sizes.items()}
    constants |= {"rows": np.array([16, 1, -1], np.int64), "flat": np.array([1, 20], np.int64)}
    nodes = [
        node("LSTM", "x w1 r1 b1", "a", hidden_size=24, direction="bidirectional"),
        node("Transpose", "a", "at", perm=[0, 2, 1, 3]), node("Reshape", "at rows", "ar"),
        node("LSTM", "ar w2 r2 b2", "b", hidden_size=12, direction="bidirectional"),
        node("Transpose", "b", "bt", perm=[0, 2, 1, 3]), node("Reshape", "bt rows", "br"),
        node("GRU", "br w3 r3 b3", "- h", hidden_size=20, linear_before_reset=1),
        node("Reshape", "h flat", "last"), node("MatMul", "last v", "y"),
    ]  # fmt: skip
    nodes[-3].output[:] = ["", "h"]
    made = model(nodes, {"x": (16, 1, 10)}, ["y"], constants)
    made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return made


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("target", TARGETS)
def test_layers_after_layers(target: str) -> None:
    made, x = encoder(), floats(np.random.default_rng(5), 16, 1, 10)
    (wanted,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    check = tw.compile(made, target=target).check({"x": x}, {"y": wanted})
    assert check.agrees, check.outputs


SCANNED = """
<ir_version: 8, opset_import: ["": 17]>
g (float[9, 4] x) => (float[1, 4] y, float[9, 1, 4] steps) <float[1, 4] start = {0, 0, 0, 0}> {
  shape = Shape(x)
  first = Constant <value = int64 {0}> ()
  trips = Gather(shape, first)
  y, steps = Loop (trips, , start) <
    body = b (int64 i, bool c, float[1, 4] h) => (bool d, float[1, 4] next, float[1, 4] seen) {
      d = Identity(c)
      axis = Constant <value = int64[1] {0}> ()
      at = Unsqueeze(i, axis)
      row = Gather(x, at)
      sum = Add(row, h)
      next = Tanh(sum)
      zero = Constant <value = int64 {4}> ()
      is_late = Less(zero, i)
      seen = If (is_late) <
        then_branch = t () => (float[1, 4] a) { a = Neg(next) },
        else_branch = e () => (float[1, 4] b) { b = Identity(sum) }
      >
    }
  >
}"""


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", TARGETS)
def test_loops_over_rows(target: str) -> None:
    made, x = parser.parse_model(SCANNED), floats(np.random.default_rng(6), 9, 4)
    wanted = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    check = tw.compile(made, target=target).check({"x": x}, dict(zip(("y", "steps"), wanted, strict=True)))
    assert check.agrees, check.outputs


def recurrent_modules(nn: Any) -> list[tuple[Any, tuple[int, ...]]]:
    return [
        (nn.LSTM(8, 12, 2, batch_first=True, bidirectional=True), (2, 7, 8)),
        (nn.GRU(8, 12, 2), (7, 2, 8)),
        (nn.RNN(8, 12, 1, nonlinearity="relu"), (7, 2, 8)),
    ]


def test_exports_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    for module, shape in recurrent_modules(torch.nn):
        check_export(torch, module, shape)


def check_export(torch: Any, module: Any, shape: tuple[int, ...]) -> None:
    x, file = torch.randn(*shape), io.BytesIO()
    torch.onnx.export(module.eval(), (x,), file, dynamo=False)
    with torch.no_grad():
        y, state = module(x)
    wanted = [y, *(state if isinstance(state, tuple) else (state,))]
    check = tw.compile(file.getvalue()).check([x.numpy()], [each.numpy() for each in wanted])
    assert check.agrees, check.outputs
