"""Three graphs from a network: what learns, by which loss and optimizer, and what stays as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import numpy_helper

from tests.training.networks import RANDOM, Learner, mlp, model, node, normalised, quantised_body, real, training_of
from tilewright.errors import CompileError
from tilewright.frontends.model_options import ModelOptions
from tilewright.frontends.onnx import parameters
from tilewright.frontends.parameters import load
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.pipeline import stage
from tilewright.training.dropout import COUNTER
from tilewright.training.losses import CrossEntropy, MeanSquares, loss_of
from tilewright.training.making import Recipe, make_training
from tilewright.training.optimizers import SGD, Adam, AdamW, Optimizer

pytestmark = pytest.mark.fast

X, LABELS = real(4, 6), np.array([0, 2, 1, 2], np.int32)


def test_all_weights_learn_a_batch() -> None:
    learner = Learner(training_of(mlp(), Recipe(optimizer=SGD(0.5))))
    losses = [(learner.step(X, LABELS), learner.update())[0] for _ in range(40)]
    assert learner.training.weights == ("first.weight", "first.bias", "head.weight", "head.bias")
    assert losses[-1] < 0.1 < losses[0]
    assert list(learner.infer(X).argmax(1)) == list(LABELS)


def test_cross_entropy_counts_classes() -> None:
    """Against its formula, with weights and with labels that are shared."""
    weights, proto = (0.5, 1.0, 3.0), mlp()
    training = training_of(proto, Recipe(loss=loss_of("cross_entropy", weights)))
    scores = Learner(training).infer(X).astype(np.float64)
    logarithms = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    counts = np.array(weights)[LABELS]
    right = -logarithms[np.arange(4), LABELS]
    np.testing.assert_allclose(Learner(training).step(X, LABELS), (right * counts).sum() / counts.sum(), rtol=1e-5)
    smooth = training_of(proto, Recipe(loss=CrossEntropy(weights, smoothing=0.1)))
    among = -(logarithms * np.array(weights)).sum(1) / 3
    expected = (0.9 * right * counts + 0.1 * among).sum() / counts.sum()
    np.testing.assert_allclose(Learner(smooth).step(X, LABELS), expected, rtol=1e-5)


def test_accumulation_is_the_mean_of_steps() -> None:
    """Two steps of two samples are one of four."""
    whole = Learner(training_of(mlp(4), Recipe(optimizer=SGD(1.0))))
    halves = Learner(training_of(mlp(2), Recipe(optimizer=SGD(1.0), accumulate=2)), dict(whole.states))
    for _ in range(2):
        whole.step(X, LABELS)
        whole.update()
        for part in (slice(0, 2), slice(2, 4)):
            halves.step(X[part], LABELS[part])
        halves.update()
    for name in whole.training.weights:
        np.testing.assert_allclose(halves.states[name], whole.states[name], rtol=2e-5, atol=1e-6)


def followed(optimizer: Optimizer, weight: Array, slopes: list[Array]) -> Array:
    """The formulas of PyTorch's documentation, in double precision."""
    w, own, square = weight.astype(np.float64), np.zeros(weight.shape), np.zeros(weight.shape)
    for t, slope in enumerate(slopes, 1):
        g = slope + optimizer.decay * w if type(optimizer) is not AdamW else slope
        if isinstance(optimizer, SGD):
            own = optimizer.momentum * own + g
            w = w - optimizer.rate * (g + optimizer.momentum * own if optimizer.nesterov else own)
            continue
        if isinstance(optimizer, AdamW):
            w = w * (1 - optimizer.rate * optimizer.decay)
        first, second = optimizer.betas
        own, square = first * own + (1 - first) * g, second * square + (1 - second) * g * g
        w = w - optimizer.rate * (own / (1 - first**t)) / (np.sqrt(square / (1 - second**t)) + optimizer.epsilon)
    return w


@pytest.mark.parametrize(
    "optimizer",
    [SGD(0.1), SGD(0.1, 0.9, 0.01), SGD(0.1, 0.9, nesterov=True), Adam(0.01, decay=0.1), AdamW(0.01, decay=0.1)],
    ids=str,
)
def test_optimizers(optimizer: Optimizer) -> None:
    training = training_of(mlp(), Recipe(optimizer=optimizer, trainable="head.weight"))
    learner, slopes = Learner(training), [real(3, 16) for _ in range(4)]
    for slope in slopes:
        learner.states["head.weight.gradient"] = slope
        learner.update()
    first = training.states["head.weight"].initial
    np.testing.assert_allclose(learner.states["head.weight"], followed(optimizer, first, slopes), rtol=2e-5, atol=1e-6)


def test_the_last_layers_learn() -> None:
    assert training_of(mlp(), Recipe(trainable="last:1")).weights == ("head.weight", "head.bias")
    assert len(training_of(mlp(), Recipe(trainable="last:2")).weights) == 4
    assert training_of(mlp(), Recipe(trainable="first,head.bias")).weights == (
        "first.weight", "first.bias", "head.bias",
    )  # fmt: skip
    assert training_of(mlp(), Recipe(trainable="last:1,first.bias")).weights == (
        "head.weight", "head.bias", "first.bias",
    )  # fmt: skip


def test_adaptation_of_low_rank() -> None:
    """Before the first update the network is what it was; the frozen matrices stay."""
    training = training_of(mlp(), Recipe(trainable="lora:2:head", optimizer=SGD(0.5)))
    assert training.weights == ("head.weight.lora_a", "head.weight.lora_b")
    learner, plain = Learner(training), Learner(training_of(mlp()))
    assert training.states["head.weight.lora_b"].initial.shape == (2, 3)
    assert not training.states["head.weight.lora_b"].initial.any()
    assert learner.infer(X).shape == plain.infer(X).shape
    losses = [(learner.step(X, LABELS), learner.update())[0] for _ in range(20)]
    assert losses[-1] < losses[0]
    assert set(training.states) >= set(training.weights)
    assert "head.weight" not in training.states


def test_running_statistics_follow_batches() -> None:
    """As PyTorch has them: the variance that is followed is the unbiased one."""
    training = training_of(normalised(), Recipe(statistics="trained"))
    assert training.statistics == ("norm.mean", "norm.var")
    learner, x = Learner(training), real(2, 2, 3, 3)
    learner.step(x, np.array([0, 1], np.int32))
    w, before = training.states["conv.weight"].initial, training.states
    a = np.einsum("ncyx,fc->nfyx", x, w[:, :, 0, 0])
    mean, var = a.mean((0, 2, 3)), a.var((0, 2, 3), ddof=1)
    for name, now in (("norm.mean", mean), ("norm.var", var)):
        np.testing.assert_allclose(learner.states[name], 0.9 * before[name].initial + 0.1 * now, rtol=1e-5)
    assert training_of(normalised()).statistics == ()


def test_cross_entropy_leaves_out_a_softmax_at_the_end() -> None:
    kinds = [node.op.kind for node in training_of(normalised()).train.nodes]
    assert kinds.count("Softmax") == 0
    assert kinds.count("LogSoftmax") == 1


def test_dropout_is_drawn_from_a_seed() -> None:
    found = load(mlp())
    assert found.dropped == {"c": 0.25}
    recipe = Recipe(dropout={"c": 0.25}, seed=5)
    learners = [Learner(make_training(found.graph, replace(recipe, seed=seed))) for seed in (5, 5, 6)]
    losses = [[learner.step(X, LABELS) for _ in range(3)] for learner in learners]
    assert losses[0] == losses[1] != losses[2]
    assert len(set(losses[0])) == 3
    assert learners[0].states[COUNTER] == 8
    assert "BitwiseXor" not in {node.op.kind for node in make_training(found.graph, recipe).infer.nodes}  # type: ignore[union-attr]


def test_dropout_drops_its_share() -> None:
    found = load(mlp(200))
    training = make_training(found.graph, Recipe(dropout={"c": 0.25}))
    graph = training.train
    states = {name: state.initial for name, state in training.states.items()}
    x = np.ones((200, 6), np.float32)
    values = evaluate(graph, dict(zip(graph.inputs, (x, np.zeros(200, np.int32)), strict=True)), states)
    kept, before = values["c"], values["c_kept"]
    some = before != 0
    assert 0.2 < float((kept[some] == 0).mean()) < 0.3
    np.testing.assert_allclose(kept[kept != 0], before[kept != 0] / 0.75, rtol=1e-5)


def test_a_frozen_body_stays_in_integers() -> None:
    training = training_of(quantised_body(), Recipe(optimizer=SGD(0.5)))
    assert training.weights == ("head.weight", "head.bias")
    for graph in training.graphs.values():
        if graph is not training.update:
            quantised = stage(graph, "generic", "quantised")
            products = [node for node in quantised.nodes if node.op.kind == "MatMul"]
            assert quantised.operand_types(products[0])["A"].dtype == "int8"
    learner = Learner(training)
    losses = [(learner.step(X, LABELS), learner.update())[0] for _ in range(20)]
    assert losses[-1] < losses[0]


def test_means_of_squares() -> None:
    training = training_of(mlp(), Recipe(loss=MeanSquares()))
    target = real(4, 3)
    expected = ((Learner(training).infer(X) - target) ** 2).mean()
    np.testing.assert_allclose(Learner(training).step(X, target), expected, rtol=1e-5)


REFUSED = [
    (
        Recipe(trainable="frist.weight"),
        "trainable 'frist.weight': is no weight of the network\n  hint: there are first.weight",
    ),
    (Recipe(trainable="last:3"), "trainable 'last:3': the network has 2 layers with weights in floats"),
    (Recipe(trainable="last:3,head.bias"), "trainable 'last:3': the network has 2 layers with weights in floats"),
    (
        Recipe(trainable="lora:4,head.bias"),
        "trainable 'lora:4,head.bias': 'head.bias' is no part of 'lora:4', which freezes all other weights",
    ),
    (Recipe(trainable=()), "trainable: nothing is trainable\n  hint: name weights, or use all, last:2 or lora:4"),
    (Recipe(trainable="lora:0"), "trainable 'lora:0': the rank '0' is no number above 0\n  hint: for example lora:4"),
    (Recipe(accumulate=0), "accumulate 0: is no number of steps"),
    (Recipe(statistics="some"), "statistics 'some': is unknown\n  hint: use frozen or trained"),
    (Recipe(loss=CrossEntropy((1.0, 2.0))), "loss cross_entropy: 2 class weights for 3 classes"),
    (Recipe(loss=CrossEntropy(axis=2)), "loss cross_entropy: the output has shape (4, 3), but a batch and an axis 2"),
    (Recipe(dropout={"q": 0.5}), "dropout of 'q': no layer has a result of that name"),
    (Recipe(dropout={"c": 1.0}), "dropout of 'c': the share is 1.0"),
    (Recipe(output="z"), "output 'z': is none\n  hint: there are y"),
]


@pytest.mark.parametrize(("recipe", "message"), REFUSED, ids=lambda case: case if isinstance(case, str) else "")
def test_refusals(recipe: Recipe, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        training_of(mlp(), recipe)
    assert str(caught.value).startswith(message)


def test_weights_in_front_of_integers_are_refused_by_name() -> None:
    proto = quantised_body()
    proto.graph.node[3].input[1] = "wf2"
    proto.graph.node.remove(proto.graph.node[2])
    proto.graph.initializer.append(numpy_helper.from_array(RANDOM.normal(size=(6, 8)).astype(np.float32), "wf2"))
    with pytest.raises(CompileError) as caught:
        training_of(proto, Recipe(trainable="wf2"))
    path = "it is on the path to the loss: weight 'wf2' -> body -> body_steps"
    start = f"node 'body_steps' (QuantizeLinear): it gives i8[4x8], which has no gradient; {path}"
    assert str(caught.value).startswith(start)


def test_a_loss_without_a_name_is_refused() -> None:
    with pytest.raises(CompileError, match="loss 'hinge': is unknown"):
        loss_of("hinge")
    with pytest.raises(CompileError, match="optimizer SGD: rate is -1"):
        SGD(-1)


def test_weights_of_one_element_learn_where_they_are_known() -> None:
    proto = model(
        [node("MatMul", ["x", "w"], ["a"], name="one"), node("Add", ["a", "b"], ["y"], name="bias")],
        (4, 3), w=real(3, 1), b=np.array([0.5], np.float32),
    )  # fmt: skip
    graph = load(proto).graph
    assert make_training(graph, Recipe(MeanSquares())).weights == ("w",)
    found = make_training(graph, Recipe(MeanSquares(), SGD(0.1, momentum=0.9)), {"w", "b"})
    assert found.weights == ("w", "b")
    learner = Learner(found)
    learner.step(np.ones((4, 3), np.float32), np.zeros((4, 1), np.float32))
    learner.update()
    assert learner.states["b"] != 0.5


def test_a_parameter_whose_value_is_needed_is_named() -> None:
    proto = model(
        [node("MatMul", ["x", "w"], ["a"], name="one"), node("Resize", ["a", "", "by"], ["y"], name="larger")],
        (1, 1, 4, 3), w=real(3, 2), by=np.array([1, 1, 2, 2], np.float32),
    )  # fmt: skip
    opened = parameters.load(proto, ModelOptions(), {"w", "by"})
    assert (opened.parameters, opened.fixed) == (("w",), ("by",))


def test_a_weight_without_axes_keeps_its_shape() -> None:
    proto = model([node("Mul", ["x", "gain"], ["y"], name="gain")], (4, 3), gain=np.float32(0.5))
    found = make_training(load(proto).graph, Recipe(MeanSquares(), SGD(0.1, momentum=0.9)), {"gain"})
    assert found.weights == ("gain",)
    assert found.types["gain"].shape == found.types["gain.momentum"].shape == ()
