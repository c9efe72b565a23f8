"""Some rows of weights learn: they move as they do where all learn, and the others stay."""

from __future__ import annotations

import re

import numpy as np
import pytest
from onnx import ModelProto

from tests.training.networks import Learner, mlp, node, normalised, real, training_of
from tests.training.networks import model as proto
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.training.making import Recipe
from tilewright.training.optimizers import SGD
from tilewright.training.recipes import learned as export_of

pytestmark = pytest.mark.fast
LABELS = np.array([0, 2, 1, 2], np.int32)
ALONE = SGD(0.3)


def learned(model: ModelProto, trainable: str, *inputs: np.ndarray) -> tuple[Learner, float]:
    made = Learner(training_of(model, Recipe(optimizer=ALONE, trainable=trainable)))
    loss = made.step(*inputs)
    made.update()
    return made, loss


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("first.weight", [(0, 4)]),
        ("first.weight", [(2, 5), (9, 16)]),
        ("head.weight", [(1, 2)]),
        ("first.bias", [(3, 8)]),
    ],
)
def test_rows_move_as_they_do_where_all_learn(name: str, spans: list[tuple[int, int]]) -> None:
    model, inputs = mlp(), (real(4, 6), LABELS)
    whole, loss = learned(model, name, *inputs)
    words = [f"{name}[{first}:{end}]" for first, end in spans]
    some, same = learned(model, ",".join(words), *inputs)
    assert some.training.learned == tuple(words)
    assert abs(loss - same) < 1e-6
    for word, (first, end) in zip(words, spans, strict=True):
        np.testing.assert_allclose(some.states[word], whole.states[name][first:end], rtol=1e-5, atol=1e-6)


def test_filters_have_gradients_of_their_own() -> None:
    model, inputs = normalised(), (real(2, 2, 3, 3), LABELS[:2])
    whole, _ = learned(model, "conv.weight", *inputs)
    some, _ = learned(model, "conv.weight[1:3],head", *inputs)
    np.testing.assert_allclose(some.states["conv.weight[1:3]"], whole.states["conv.weight"][1:3], rtol=1e-5, atol=1e-6)
    train = some.training.train
    (made,) = (node for node in train.nodes if node.op.kind == "ConvWeightGrad")
    assert train.types[made.key].shape == (2, 2, 1, 1)
    assert train.types["conv.weight[3:4]"].shape == (1, 2, 1, 1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("first.weight[4:20]", "trainable 'first.weight[4:20]': 'first.weight' has 16 rows"),
        ("first.weight[4:4]", "trainable 'first.weight[4:4]': 'first.weight' has 16 rows"),
        ("first.weight[0:4],first.weight[3:8]", "trainable 'first.weight[3:8]': has rows that are named twice"),
        ("first.weight[0:4],first.weight", "trainable 'first.weight': is named as a whole and in parts"),
        ("other.weight[0:4]", "trainable 'other.weight[0:4]': is no weight of the network"),
    ],
)
def test_rows_that_cannot_be_meant(asked: str, said: str) -> None:
    with pytest.raises(CompileError, match=re.escape(said)):
        training_of(mlp(), Recipe(trainable=asked))


def test_what_is_learned_is_in_one_piece_again() -> None:
    model, inputs = mlp(), (real(4, 6), LABELS)
    some, _ = learned(model, "first.weight[2:5],first.bias[0:3],head.weight[1:2]", *inputs)
    found = export_of(some.training, {name: some.states[name] for name in some.training.learned})
    plain = training_of(model, Recipe()).infer
    assert plain is not None
    assert [node.op.kind for node in found.nodes] == [node.op.kind for node in plain.nodes]
    assert {"first.weight", "first.bias", "head.weight", "head.bias"} <= found.constants.keys()
    np.testing.assert_array_equal(found.constants["first.weight"][2:5], some.states["first.weight[2:5]"])
    np.testing.assert_array_equal(found.constants["first.bias"][:3], some.states["first.bias[0:3]"])


def test_names_that_look_like_rows_are_the_users_own() -> None:
    """Two halves side by side, each with a bias of its own, are no rows of one weight."""
    nodes = [
        node("Gemm", ["x", "w[0:2]", "one"], ["a"], transB=1, name="one"),
        node("Gemm", ["x", "w[2:4]", "two"], ["b"], transB=1, name="two"),
        node("Concat", ["a", "b"], ["c"], axis=1, name="both"),
        node("Gemm", ["c", "head"], ["y"], transB=1, name="head"),
    ]
    weights = {"w[0:2]": real(2, 6), "w[2:4]": real(2, 6), "one": real(2), "two": real(2), "head": real(3, 4)}
    made, inputs = proto(nodes, (4, 6), **weights), (real(4, 6), LABELS)
    some, _ = learned(made, "head", *inputs)
    found = export_of(some.training, {"head": some.states["head"]})
    x = inputs[0]
    hidden = np.concatenate([x @ weights["w[0:2]"].T + weights["one"], x @ weights["w[2:4]"].T + weights["two"]], 1)
    result = evaluate(found, {"x": x})[found.outputs[0]]
    np.testing.assert_allclose(result, hidden @ some.states["head"].T, rtol=1e-5, atol=1e-6)


def test_a_name_that_another_tensor_has() -> None:
    made = mlp()
    made.graph.node[0].output[0] = made.graph.node[1].input[0] = "first.weight[0:4]"
    with pytest.raises(CompileError, match="is the name of another tensor of the network"):
        training_of(made, Recipe(trainable="first.weight[0:4]"))
