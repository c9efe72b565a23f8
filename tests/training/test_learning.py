"""A network, a loss and samples on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from tests.support.command import Command, Ran
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.training.optimizers import SGD, Adam
from tilewright.training.recipes import optimizer_of

fast = pytest.mark.fast
RANDOM = np.random.default_rng(3)
CENTRES = RANDOM.normal(0, 2, (3, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three heaps of points, and a network of two layers."""
    place = tmp_path_factory.mktemp("learning")
    weights = {"w1": (6, 8), "b1": (8,), "w2": (8, 3), "b2": (3,)}
    arrays = {name: RANDOM.normal(0, 0.4, shape).astype(np.float32) for name, shape in weights.items()}
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["hidden"], "first"),
        helper.make_node("Relu", ["hidden"], ["bent"], "bend"),
        helper.make_node("Gemm", ["bent", "w2", "b2"], ["scores"], "second"),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 6]), ("scores", [1, 3]))]
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "heaps", ends[:1], ends[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), place / "heaps.onnx")
    labels = np.arange(30) % 3
    points = (CENTRES[labels] + RANDOM.normal(0, 0.3, (30, 6))).astype(np.float32)
    np.savez(place / "points.npz", x=points)
    np.savez(place / "labels.npz", label=labels)
    return place


def train(command: Command, folder: Path, *more: str, labels: str = "labels.npz", data: str = "points.npz") -> Ran:
    files = ["--data", folder / data, "--labels", folder / labels]
    return command("train", folder / "heaps.onnx", *files, *more)


LEARN = ("--loss", "cross_entropy", "--optimizer", "sgd:0.1")


def test_three_heaps_are_told_apart(command: Command, folder: Path) -> None:
    done = train(command, folder, *LEARN, "--epochs", "4", "--accumulate", "2", "--held-out", "6", "--json")
    assert done.code == 0
    found = done.json
    assert found["epochs"][-1]["accuracy"] == 1.0
    assert found["epochs"][-1]["loss"] < 0.3 * found["epochs"][0]["loss"]
    assert len(found["losses"]) == 4 * 24
    plan = found["plan"]
    assert plan["networks"]["train"]["buffers"] == 4 * (48 + 8 + 24 + 3)
    assert plan["ram"] > plan["inference_alone"]["arena"]


def test_what_was_learned_is_a_network(command: Command, folder: Path, tmp_path: Path) -> None:
    made = tmp_path / "learned.onnx"
    done = train(command, folder, *LEARN, "--epochs", "4", "--export", str(made), "--trainable", "last:1")
    assert done.code == 0
    assert "✓ the first 8 losses agree with numpy's; 120 steps" in done.out
    known = {one.name: numpy_helper.to_array(one) for one in onnx.load(made).graph.initializer}
    first = {one.name: numpy_helper.to_array(one) for one in onnx.load(folder / "heaps.onnx").graph.initializer}
    moved = {name for name, array in first.items() if not any(np.array_equal(array, one) for one in known.values())}
    assert moved == {"w2", "b2"}


def test_a_place_that_cannot_be_written_is_told_before_anything_is_learned(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.training.train.fit", lambda *words: pytest.fail("it has begun"))
    for place, why in ((folder, "it is a folder"), (folder / "none" / "a.onnx", "No such file")):
        done = train(command, folder, *LEARN, "--export", str(place))
        assert f"cannot be written: {why}" in done.err


def test_weights_of_the_best_epoch_are_written(command: Command, folder: Path, tmp_path: Path) -> None:
    """With a rate that is too large, which is what early stopping is for."""
    made, words = tmp_path / "best.onnx", ("--loss", "cross_entropy", "--optimizer", "sgd:1", "--held-out", "6")
    done = train(command, folder, *words, "--epochs", "6", "--patience", "3", "--export", str(made), "--json")
    losses = [epoch["held_out"] for epoch in done.json["epochs"]]
    assert min(losses) < losses[-1]
    assert losses[done.json["best_epoch"] - 1] == min(losses)
    graph = tw.compile(made).graph
    x, labels = (np.load(folder / f"{name}.npz") for name in ("points", "labels"))
    scores = [evaluate(graph, {graph.inputs[0]: one[None]})[graph.outputs[0]][0] for one in x["x"][-6:]]
    rows = [np.float64(row - row[label]) for row, label in zip(scores, labels["label"][-6:], strict=True)]
    own = [np.log(np.exp(row).sum()) for row in rows]
    np.testing.assert_allclose(np.mean(own), min(losses), rtol=1e-5, atol=1e-7)


def test_a_training_graph_has_a_loss_and_no_inference(command: Command, folder: Path) -> None:
    graphs = folder / "heaps.onnx", "--optimizer", "updates.onnx"
    assert "--loss mse" in command("train", *graphs, "--loss", "mse").err
    assert "does not say what inference computes" in command("train", *graphs, "--export", "x.onnx").err


def test_a_plan_builds_nothing(command: Command, folder: Path) -> None:
    done = command("train", folder / "heaps.onnx", *LEARN, "--plan", "--target", "cortex-m4")
    assert done.code == 0
    assert "RAM of heaps on cortex-m4" in done.out
    assert "inference alone" in done.out


def test_analyze_says_what_training_takes(command: Command, folder: Path) -> None:
    words = "analyze", folder / "heaps.onnx", *LEARN, "--target", "cortex-m4"
    whole = command(*words, "--json").json["training"]
    planned = command("train", *words[1:], "--plan", "--json").json
    assert {key: planned[key] for key in whole} == whole
    assert max(one["bytes"] for one in whole["kept"]) == 4 * 8
    assert not any(one["is_recomputed"] for one in whole["kept"])
    done = command(*words)
    assert "RAM of heaps on cortex-m4" in done.out
    assert "which are all kept" in done.out
    assert "is about training, which needs a loss" in command("analyze", folder / "heaps.onnx", "--ram", "9k").err
    assert "training is planned for one target" in command(*words[:4], "--target", "auto").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--optimizer", "sgd:0.1"), "a network needs a loss"),
        (("--loss", "cross_entropy"), "is missing"),
        (("--loss", "hinge", "--optimizer", "sgd"), "is unknown"),
        ((*LEARN, "--trainable", "nobody"), "nobody"),
        ((*LEARN, "--held-out", "-1"), "--held-out -1"),
        ((*LEARN, "--held-out", "30"), "leaves 0 of 30 samples, a step takes 1"),
        ((*LEARN, "--patience", "2"), "there is no held-out set"),
        ((*LEARN, "--patience", "-1"), "--patience -1 what is less than 0"),
        ((*LEARN, "--seed", "-3", "--trainable", "lora:2"), "seed -3 what is less than 0"),
        ((*LEARN, "--ram", "100"), "bytes at the least that was found"),
        (("--loss", "cross_entropy", "--optimizer", "sgd:1e30"), "the first tensor that is not finite is made by"),
    ],
)
def test_words_that_fit_nothing_are_refused(command: Command, folder: Path, words: tuple[str, ...], said: str) -> None:
    done = train(command, folder, *words)
    assert done.code == 2
    assert said in " ".join(done.err.replace("│", " ").split())


def test_a_label_out_of_range_is_refused(command: Command, folder: Path) -> None:
    np.savez(folder / "wrong.npz", label=np.arange(30) % 4)
    done = train(command, folder, *LEARN, labels="wrong.npz")
    assert done.code == 2
    assert "label 3 in 'label' is none of the 3 classes" in done.err


def test_samples_that_are_not_as_many_as_labels_are_refused(command: Command, folder: Path) -> None:
    np.savez(folder / "few.npz", label=np.arange(29) % 3)
    done = train(command, folder, *LEARN, labels="few.npz")
    assert "samples and labels are not as many: 30 of 'x', 29 of 'label'" in done.err


def test_samples_that_are_no_numbers_are_refused(command: Command, folder: Path) -> None:
    np.savez(folder / "nan.npz", x=np.full((30, 6), np.nan, np.float32))
    done = train(command, folder, *LEARN, data="nan.npz")
    assert "'x' has 180 elements that are infinite or not a number" in done.err


@fast
def test_optimizers_are_read() -> None:
    assert optimizer_of("sgd:0.1:momentum=0.9") == SGD(0.1, momentum=0.9)
    assert optimizer_of("adam") == Adam()


@fast
@pytest.mark.parametrize("words", ["lion:0.1", "sgd:fast", "sgd:0.1:beta=2", "adam:0.1:betas=1"])
def test_unknown_optimizers_are_refused(words: str) -> None:
    with pytest.raises(CompileError, match=f"--optimizer {words}"):
        optimizer_of(words)
