"""Training graphs of another tool: read, trained, compared, and refused where files do not fit together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.support import training_made
from tests.support.command import Command

BUFFER = "w_grad.accumulation.buffer"
PEERS = Path(os.environ.get("TILEWRIGHT_NETWORKS", Path(__file__).parents[3] / "shared/networks")) / "training/Models"
X = np.random.default_rng(5).normal(0, 1, (4, 1, 6)).astype(np.float32)
LABELS = np.array([0, 2, 1, 2])
W = np.random.default_rng(6).normal(0, 0.5, (3, 6)).astype(np.float32)


def graph_of_steps(path: Path, buffer: str = BUFFER) -> None:
    values = {"x": (1, [1, 6]), "labels": (7, [1]), "w": (1, [3, 6]), buffer: (1, [3, 6]), "lazy_reset_grad": (9, [1])}
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in values.items()]
    outputs = [
        helper.make_tensor_value_info("loss", TensorProto.FLOAT, []),
        helper.make_tensor_value_info(buffer.replace("buffer", "out"), TensorProto.FLOAT, [3, 6]),
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["scores"], "layer", transB=1),
        helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "labels"], ["loss", "logs"], "loss"),
        helper.make_node(
            "SoftmaxCrossEntropyLossGrad", ["one", "logs", "labels"], ["back"], "back", domain="com.microsoft"
        ),
        helper.make_node("Gemm", ["back", "x"], ["w_grad"], "gradient", transA=1),
        helper.make_node(
            "InPlaceAccumulatorV2", [buffer, "w_grad", "lazy_reset_grad"], [outputs[1].name], "sum",
            domain="com.microsoft",
        ),
    ]  # fmt: skip
    one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
    _save(helper.make_graph(nodes, "steps", inputs, outputs, [one]), path)


def optimizer(path: Path, shape: tuple[int, ...] = (3, 6), weight: str = "w") -> None:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (weight, BUFFER)]
    made = helper.make_tensor_value_info(f"{weight}_updated", TensorProto.FLOAT, shape)
    node = helper.make_node("SGD", [weight, BUFFER], [f"{weight}_updated"], "sgd", lr=0.5)
    _save(helper.make_graph([node], "optimizer", ends, [made]), path)


def _save(graph: onnx.GraphProto, path: Path) -> None:
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=8), path)


def data(path: Path, **changed: Any) -> None:
    arrays: dict[str, Any] = {"arr_0000": X[0], "arr_0001": LABELS[:1], "arr_0002": W, "arr_0003": np.array([True])}
    for step in range(1, 4):
        arrays |= {f"mb{step}_arr_0000": X[step], f"mb{step}_arr_0001": LABELS[step : step + 1]}
    arrays |= {"meta_n_batches": np.array([4]), "meta_n_accum": np.array([2])}
    np.savez(path, **{name: array for name, array in (arrays | changed).items() if array is not None})


def results() -> tuple[list[float], np.ndarray]:
    """In double precision."""
    w, total, losses = W.astype(np.float64), np.zeros((3, 6)), []
    for step in range(4):
        scores = X[step] @ w.T
        shares = np.exp(scores) / np.exp(scores).sum()
        losses.append(float(-np.log(shares[0, LABELS[step]])))
        shares[0, LABELS[step]] -= 1
        total = total + shares.T @ X[step]
        if step % 2:
            w, total = w - 0.5 * total, np.zeros((3, 6))
    return losses, w


@pytest.fixture
def files(tmp_path: Path) -> list[str | Path]:
    steps, update, given = tmp_path / "train.onnx", tmp_path / "optimizer.onnx", tmp_path / "inputs.npz"
    graph_of_steps(steps)
    optimizer(update)
    data(given)
    return ["train", steps, "--optimizer", update, "--data", given]


def test_losses_and_weights_are_those_of_double_precision(
    command: Command, files: list[str | Path], tmp_path: Path
) -> None:
    losses, w = results()
    np.savez(tmp_path / "outputs.npz", w=w.astype(np.float32), loss=np.array(losses, np.float32), other=np.zeros(3))
    done = command(*files, "--expect", tmp_path / "outputs.npz", "--json")
    assert done.code == 0
    assert done.json["agrees"]
    np.testing.assert_allclose(done.json["losses"], losses, rtol=1e-5)
    assert done.json["weights"][0]["moved"] == pytest.approx(np.abs(w - W).max(), rel=1e-4)
    assert done.json["plan"]["inference_alone"] is not None


def test_what_differs_is_said_and_ends_with_one(command: Command, files: list[str | Path], tmp_path: Path) -> None:
    losses, w = results()
    losses[2] *= 1.001
    np.savez(tmp_path / "outputs.npz", w=w.astype(np.float32), loss=np.array(losses, np.float32))
    done = command(*files, "--expect", tmp_path / "outputs.npz")
    assert done.code == 1
    assert "✗ differs from" in done.out


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"arr_0002": W[:2]}, "weight 'w' has shape 2x6, the network needs 3x6"),
        ({"arr_0003": None}, "has 3 arrays of the first step"),
        ({"mb2_arr_0000": None}, "step 2 has 1 arrays, the network has 2 inputs for each step: x, labels"),
        ({"mb1_arr_0001": np.array([3])}, "label 3 in 'labels' is none of the 3 classes"),
        ({"mb3_arr_0000": X[3] * np.nan}, "'x' of step 3 has 6 elements that are infinite or not a number"),
        ({"meta_n_accum": np.array([3])}, "is no multiple of the 3 steps of meta_n_accum"),
        ({"meta_n_batches": np.array([0])}, "it is one number from 1 to a million"),
        ({"arr_0002": W * np.inf}, "weight 'w' has 18 elements that are infinite or not a number"),
        (
            {"arr_0002": W * 1e37, "arr_0000": X[0] * 1e37},
            "the first tensor that is not finite is made by node 'layer'",
        ),
    ],
)
def test_data_that_does_not_fit_is_refused(
    command: Command, files: list[str | Path], tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    with np.errstate(all="ignore"):
        data(tmp_path / "inputs.npz", **changed)
    done = command(*files)
    assert done.code == 2
    assert said in " ".join(done.err.replace("│", " ").split())


def test_graphs_that_do_not_fit_are_refused(command: Command, files: list[str | Path], tmp_path: Path) -> None:
    optimizer(tmp_path / "optimizer.onnx", (3, 5))
    assert f"'w' is f32[3x5], in {tmp_path}" in " ".join(command(*files).err.replace("│", " ").split())
    optimizer(tmp_path / "optimizer.onnx", weight="v")
    assert "changes none of the weights of" in command(*files).err
    optimizer(tmp_path / "optimizer.onnx")
    graph_of_steps(tmp_path / "train.onnx", "sums.buffer")
    assert "has no gradient buffers: no input is called like" in command(*files).err


@pytest.mark.in_turns(10)
def test_graphs_of_the_peer_agree(command: Command, tmp_path: Path) -> None:
    """And one that is made here, which is everywhere."""
    training_made.write(tmp_path, "made")
    made = tmp_path / "made"
    peers = [PEERS / name for name in ("SimpleMLP/simplemlp", "CCT/cct", "ResNet8/resnet8")] if PEERS.exists() else []
    for name in (made, *peers):
        check_peer(command, name)


def check_peer(command: Command, name: Path) -> None:
    steps, given = Path(f"{name}_train/network.onnx"), Path(f"{name}_train/inputs.npz")
    more = ["--optimizer", Path(f"{name}_optimizer/network.onnx"), "--data", given]
    done = command("train", steps, *more, "--expect", Path(f"{name}_train/outputs.npz"), "--json")
    assert done.code == 0, done.err
    assert len(done.json["losses"]) == 4
