"""`tw.train` from a model to C that learns, and back to a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
from tests.training.networks import mlp, normalised, quantised_body
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.training.loop import reference
from tilewright.training.train import NetworkTraining

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(24, 6)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(np.int32) + (X[:, 1] > 1)


def trained(**options: object) -> NetworkTraining:
    return tw.train(mlp(), optimizer=tw.SGD(0.1), **options)  # type: ignore[arg-type]


@pytest.mark.in_turns(3)
def test_the_c_learns_as_numpy_does() -> None:
    """With dropout, whose numbers are drawn in C, and an adaptation beside an int8 body."""
    dropped = trained(accumulate=2, seed=3)
    assert dropped.check([*dropped.batches(X, LABELS)], 2).agrees
    body = tw.train(quantised_body(), optimizer=tw.Adam(0.01), trainable="lora:2")
    assert body.check([*body.batches(X, LABELS)], 1).agrees
    images = RANDOM.normal(size=(8, 2, 3, 3)).astype(np.float32)
    norm = tw.train(normalised(), optimizer=tw.SGD(0.1, momentum=0.9), statistics="trained")
    assert norm.check([*norm.batches(images, LABELS[:8])], 1).agrees


@pytest.mark.in_turns(3)
def test_weights_go_back_into_a_model(tmp_path: Path) -> None:
    program = trained(dropout=False)
    fitted = program.fit(X, LABELS, epochs=6, held_out=(X, LABELS))
    assert fitted.held_out[-1] < fitted.held_out[0]
    program.export(tmp_path / "tuned.onnx", fitted.weights)
    again = tw.compile(tmp_path / "tuned.onnx")
    found = evaluate(again.graph, {again.graph.inputs[0]: X[:4]})[again.graph.outputs[0]]
    logarithms = found - np.log(np.exp(found).sum(1, keepdims=True))
    expected = float(-logarithms[np.arange(4), LABELS[:4]].mean())
    np.testing.assert_allclose(program.loss_of(fitted.weights, X[:4], LABELS[:4]), expected, rtol=1e-5)


@pytest.mark.in_turns(5)
def test_what_is_held_out_is_judged_before_a_softmax() -> None:
    """The loss of a network that ends in a Softmax is that of what the Softmax is given."""
    proto = mlp()
    plain = tw.train(proto, optimizer=tw.SGD(0.1), dropout=False).fit(X, LABELS, held_out=(X, LABELS))
    scores = proto.graph.output[0].name
    proto.graph.node.append(helper.make_node("Softmax", [scores], ["shares"]))
    proto.graph.output[0].name = "shares"
    found = tw.train(proto, optimizer=tw.SGD(0.1), dropout=False).fit(X, LABELS, held_out=(X, LABELS))
    np.testing.assert_allclose(found.held_out, plain.held_out, rtol=1e-6)
    assert found.epochs[0].accuracy == plain.epochs[0].accuracy


def test_a_fit_stops_early() -> None:
    """What is held out has other labels than what is learned, so that the first epoch is the best."""
    program = trained(dropout=False)
    fitted = program.fit(X, LABELS, epochs=50, held_out=(X, (LABELS + 1) % 3), patience=2)
    assert len(fitted.epochs) < 50
    assert min(fitted.held_out) == fitted.held_out[len(fitted.epochs) - 3]
    found = program.loss_of(fitted.weights, X, (LABELS + 1) % 3)
    np.testing.assert_allclose(found, min(fitted.held_out), rtol=1e-6)


@pytest.mark.in_turns(3)
def test_refusals_of_data() -> None:
    program = trained(dropout=False)
    for x, labels, message in (
        (X, np.full(24, 3), "labels: label 3 in 'label' is none of the 3 classes"),
        (X, LABELS[:5], "fit: 24 samples and 5 labels for batches of 4"),
        (X[:, :5], LABELS, r"fit: samples have shape \(5,\), the network takes \(6,\)"),
        (X * np.float32(np.nan), LABELS, "step 0: the loss is infinite or not a number"),
    ):
        with pytest.raises(CompileError, match=message):
            program.fit(x, labels)


def test_a_batch_that_the_file_leaves_open() -> None:
    proto = mlp()
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    for batch, size in ((None, 1), (3, 3)):
        program = tw.train(proto, batch=batch)
        train = program.learner.training.train
        assert train.types[train.inputs[0]].shape == (size, 6)
    with pytest.raises(CompileError, match="batch 0: is no number of samples"):
        tw.train(proto, batch=0)


@pytest.mark.in_turns(3)
def test_an_update_takes_as_many_steps_across_epochs() -> None:
    """Of six steps, an update takes four: the second one takes two of each epoch."""
    program = trained(accumulate=4, dropout=False)
    found = program.fit(X, LABELS, epochs=2, shuffle=None)
    steps = [*program.batches(X, LABELS), *program.batches(X, LABELS)]
    wanted = reference(program.learner, steps, 4)
    np.testing.assert_allclose(found.losses, wanted.losses, rtol=1e-4)
    for name, weight in wanted.weights.items():
        np.testing.assert_allclose(found.weights[name], weight, rtol=1e-4, atol=1e-6)


@pytest.mark.in_turns(3)
def test_held_out_samples_whose_loss_is_not_finite_are_refused() -> None:
    held = np.full_like(X, np.nan), LABELS
    with pytest.raises(CompileError, match="epoch 1: the loss of the held-out samples is nan, which is no finite"):
        trained(dropout=False).fit(X, LABELS, held_out=held)


def test_refusals_of_epochs() -> None:
    program = trained(dropout=False)
    for options, message in (
        ({"epochs": 0}, "epochs 0: is less than 1"),
        ({"patience": -1}, "patience -1: is less than 0"),
        ({"patience": 2}, "patience 2: there is no held-out set"),
    ):
        with pytest.raises(CompileError, match=message):
            program.fit(X, LABELS, **options)  # type: ignore[arg-type]
