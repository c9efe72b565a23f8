"""LSTM, GRU and RNN mean what they mean in ONNX Runtime, in every form, with constant and with computed weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.checks import imported, same
from tests.support.recurrent import GATES, floats, layer
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.types import Array

RESULTS = {"LSTM": 3, "GRU": 2, "RNN": 2}


def model_of(
    kind: str, arrays: Mapping[str, Array | None], outputs: list[str], inputs: set[str], opset: int = 14,
    domain: str = "", **attributes: Any,
) -> onnx.ModelProto:  # fmt: skip
    """One layer; what is not among the inputs is a constant."""
    names = [name if array is not None else "" for name, array in arrays.items()]
    node = helper.make_node(kind, names, outputs, domain=domain, **attributes)
    there = {name: array for name, array in arrays.items() if array is not None}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in there.items()
        if name in inputs
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
    graph = helper.make_graph(
        [node], "layer", infos, results,
        [numpy_helper.from_array(array, name) for name, array in there.items() if name not in inputs],
    )  # fmt: skip
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def check(model: onnx.ModelProto, arrays: Mapping[str, Array | None], tolerance: float = 1e-5) -> None:
    feeds = {value.name: np.asarray(arrays[value.name]) for value in model.graph.input}
    options = onnxruntime.SessionOptions()
    # With several threads each takes some sequences of a batch, and those have a range of their own to be rounded in.
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for found, wanted in zip(imported(model, feeds), session.run(None, feeds), strict=True):
        same(found, np.asarray(wanted), tolerance)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("kind", list(GATES))
@pytest.mark.parametrize("seed", range(25))
def test_layers_equal_onnxruntime(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    arrays, attributes = layer(kind, random)
    given = {"X", "N", "H", "C"} if random.random() < 0.6 else set(arrays) if random.random() < 0.5 else {"X"}
    names = ["y", "yh", "yc"][: RESULTS[kind]]
    outputs = [name if random.random() < 0.7 else "" for name in names]
    outputs = outputs if any(outputs) else names
    check(model_of(kind, arrays, outputs, given, **attributes), arrays)


@pytest.mark.parametrize("kind", list(GATES))
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_batch_first(kind: str, direction: str) -> None:
    """ONNX Runtime has no such layout: the same layer with exchanged axes."""
    random, d = np.random.default_rng(5), 2 if direction == "bidirectional" else 1
    width, names = GATES[kind] * 4, ["y", "yh", "yc"][: RESULTS[kind]]
    arrays: dict[str, Array | None] = {
        "X": floats(random, 5, 3, 6), "W": floats(random, d, width, 6), "R": floats(random, d, width, 4), "B": None,
        "N": np.array([2, 5, 3], np.int32), "H": floats(random, d, 3, 4),
    }  # fmt: skip
    plain = imported(model_of(kind, arrays, names, {"X"}, direction=direction), {"X": np.asarray(arrays["X"])})
    turned = {name: np.asarray(arrays[name]).swapaxes(0, 1).copy() for name in ("X", "H")}
    model = model_of(kind, {**arrays, **turned}, names, {"X"}, direction=direction, layout=1)
    y, *states = imported(model, {"X": turned["X"]})
    same(y, plain[0].transpose(2, 0, 1, 3).copy())
    for found, wanted in zip(states, plain[1:], strict=True):
        same(found, wanted.swapaxes(0, 1).copy())


@pytest.mark.parametrize(
    ("kind", "names", "alpha", "beta"),
    [
        ("RNN", ["Affine"], [0.5], [0.1]),
        ("GRU", ["HardSigmoid", "ScaledTanh"], [0.3, 1.2], [0.4, 0.7]),
        ("LSTM", ["sigmoid", "leakyRelu", "Softsign"], [0.05], []),
        ("LSTM", ["HardSigmoid", "Tanh", "ScaledTanh"], [0.1, 1.1], [0.45, 0.9]),
        ("RNN", ["Relu"], [], []),
        ("GRU", ["Sigmoid", "Softplus"], [], []),
    ],
)
def test_functions_of_gates(kind: str, names: list[str], alpha: list[float], beta: list[float]) -> None:
    random = np.random.default_rng(6)
    width = GATES[kind] * 5
    arrays: dict[str, Array | None] = {
        "X": floats(random, 4, 2, 3), "W": floats(random, 1, width, 3), "R": floats(random, 1, width, 5)
    }  # fmt: skip
    given = {"activation_alpha": alpha} if alpha else {}
    given |= {"activation_beta": beta} if beta else {}
    check(model_of(kind, arrays, ["y", "yh"], {"X"}, hidden_size=5, activations=names, **given), arrays)


def test_constant_weights_stay_constant() -> None:
    """Also the sum of the two biases, and lengths that say nothing."""
    arrays, attributes = layer("LSTM", np.random.default_rng(3))
    arrays |= {"N": np.full(np.asarray(arrays["X"]).shape[1], np.asarray(arrays["X"]).shape[0], np.int32)}
    graph = frontend.load(model_of("LSTM", arrays, ["y"], {"X"}, **attributes))
    assert {node.op.kind for node in graph.nodes} <= {"MatMul", "LSTMCells", "Reshape", "Concat"}
    assert all("N" not in node.operands() for node in graph.nodes if node.op.kind == "LSTMCells")


@pytest.mark.parametrize(
    ("changes", "attributes", "says"),
    [
        ({}, {"hidden_size": 5}, "hidden size 5 needs"),
        ({}, {"activations": ["Sigmoid"]}, "1 activations, but 1 directions with 3 each"),
        ({}, {"activations": ["Sigmoid", "Tanh", "Sine"]}, "activation 'Sine' is unknown"),
        ({}, {"direction": "sideways"}, "direction 'sideways' is unknown"),
        ({}, {"direction": "bidirectional"}, r"R has shape \(1, 16, 4\)"),
        ({"B": np.zeros((1, 5), np.float32)}, {}, "B has shape"),
        ({"H": np.zeros((1, 7, 4), np.float32)}, {}, "H has shape"),
        ({"X": np.zeros((5, 3), np.float32)}, {}, "steps, a batch and inputs are expected"),
    ],
)
def test_refusals(changes: dict[str, Array], attributes: dict[str, Any], says: str) -> None:
    random = np.random.default_rng(5)
    arrays: dict[str, Array | None] = {
        "X": floats(random, 5, 3, 6), "W": floats(random, 1, 16, 6), "R": floats(random, 1, 16, 4), "B": None,
        "N": None, "H": floats(random, 1, 3, 4),
    }  # fmt: skip
    with pytest.raises(CompileError, match=says):
        frontend.load(model_of("LSTM", arrays | changes, ["y"], {"X"}, **attributes))


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_dynamically_quantised_layers_equal_onnxruntime(direction: str, per_channel: bool) -> None:
    random, d = np.random.default_rng(8), 2 if direction == "bidirectional" else 1
    scales = (d, 32) if per_channel else (d,)
    arrays: dict[str, Array | None] = {
        "X": 3 * floats(random, 6, 2, 5), "W": random.integers(-127, 128, (d, 5, 32)).astype(np.int8),
        "R": random.integers(-127, 128, (d, 8, 32)).astype(np.int8), "B": floats(random, d, 64), "N": None,
        "H": floats(random, d, 2, 8), "C": None, "P": None,
        "W_scale": random.uniform(0.002, 0.01, scales).astype(np.float32), "W_zero": np.zeros(scales, np.int8),
        "R_scale": random.uniform(0.002, 0.01, scales).astype(np.float32), "R_zero": np.zeros(scales, np.int8),
    }  # fmt: skip
    model = model_of(
        "DynamicQuantizeLSTM", arrays, ["y", "yh", "yc"], {"X", "H"}, domain="com.microsoft", hidden_size=8,
        direction=direction,
    )  # fmt: skip
    check(model, arrays)
