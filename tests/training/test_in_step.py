"""Updates inside steps: the same weights as by steps and updates, without buffers for gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.command import Command
from tests.training import test_peer_graphs as peers
from tests.training.line import WEIGHTS, line
from tests.training.networks import Learner, mlp, normalised, quantised_body, real, training_of
from tests.training.test_budget import WIDTH, deep
from tilewright.errors import CompileError
from tilewright.training.budget import within
from tilewright.training.compiling import compile_training
from tilewright.training.folder import LearnerC
from tilewright.training.in_step import updated_in_step
from tilewright.training.loop import reference
from tilewright.training.making import Recipe
from tilewright.training.optimizers import SGD, Adam, AdamW
from tilewright.training.plan import ram_of
from tilewright.training.session import NotFinite
from tilewright.training.sessions import session

fast = pytest.mark.fast
LABELS = np.array([0, 2, 1, 2], np.int32)
RECIPES = [
    Recipe(optimizer=SGD(0.3)),
    Recipe(optimizer=SGD(0.1, 0.9, 0.01, nesterov=True)),
    Recipe(optimizer=Adam(0.05), trainable="last:1"),
    Recipe(optimizer=AdamW(0.05), trainable="lora:2"),
    Recipe(optimizer=SGD(0.1), dropout={"b": 0.5}),
]


def pairs(made: Learner, joined: Learner, *inputs: np.ndarray) -> None:
    """Steps of both, and the same weights and moments behind them."""
    for _ in range(3):
        assert joined.step(*inputs) == made.step(*inputs)
        made.update()
        joined.update()
    for name in (*made.training.learned, *made.training.moments):
        assert joined.states[name].tobytes() == made.states[name].tobytes()


@fast
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"{recipe.optimizer} {recipe.trainable}")
def test_weights_and_moments_are_the_same_to_the_bit(recipe: Recipe) -> None:
    made = training_of(mlp(), recipe)
    joined = updated_in_step(made)
    assert not joined.buffers
    assert set(joined.states) == set(made.states) - {*made.buffers, "first_of_accumulation"}
    pairs(Learner(made), Learner(joined), real(4, 6), LABELS)


@fast
def test_statistics_and_heads_behind_integers() -> None:
    made = training_of(normalised(), Recipe(statistics="trained"))
    pairs(Learner(made), Learner(updated_in_step(made)), real(2, 2, 3, 3), LABELS[:2])
    made = training_of(quantised_body())
    pairs(Learner(made), Learner(updated_in_step(made)), real(4, 6), LABELS)


@fast
@pytest.mark.parametrize("in_place", [False, True])
def test_a_loss_that_is_no_number_stays_out_of_statistics(in_place: bool) -> None:
    learner = Learner(training_of(normalised(), Recipe(statistics="trained", in_place=in_place)))
    learned = {name: learner.states[name] for name in learner.training.learned}
    with np.errstate(invalid="ignore"):
        assert np.isnan(learner.step(np.full((2, 2, 3, 3), np.nan, np.float32), LABELS[:2]))
    assert {"norm.mean", "norm.var"} <= learned.keys()
    for name, value in learned.items():
        np.testing.assert_array_equal(learner.states[name], value)


@fast
def test_a_weight_changes_once_nobody_reads_it_any_more() -> None:
    """In the order of nodes: not behind the whole way back."""
    train = training_of(mlp(), Recipe(in_place=True)).train
    places = {node.key: place for place, node in enumerate(train.nodes)}
    after = {state.name: places[state.after] for state in train.states}
    first = next(place for place, node in enumerate(train.nodes) if node.name == "first_gradient")
    assert after["head.weight"] < first < after["first.weight"]


@pytest.mark.in_turns(6)
@fast
def test_a_budget_recomputes_with_the_old_weights() -> None:
    joined = updated_in_step(deep())
    plain = compile_training(joined)
    tight = within(joined, ram_of(plain) - 2048, compile_training)
    assert tight.said
    data = {name: real(WIDTH) for name in joined.train.inputs}
    wanted, found = (reference(one, [data] * 3, 1) for one in (plain, tight.learner))
    assert found.losses == wanted.losses
    assert all((found.weights[name] == wanted.weights[name]).all() for name in joined.weights)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", ["generic", "siracusa", "cortex-m4"])
def test_a_loss_that_is_no_number_changes_nothing(target: str) -> None:
    model = LearnerC(compile_training(updated_in_step(line()), target))
    assert "each step updates the weights" in model.texts()["line.h"]
    running, x = session(model), np.array([1, 2, 3, 4], np.float32)
    running.train({"x": x, "label": x})
    weights = WEIGHTS - 0.1 * (WEIGHTS * x - x) * x / 2
    running.update()
    for wrong in (np.nan, np.inf):
        with pytest.raises(NotFinite):
            running.train({"x": x * np.float32(wrong), "label": x})
    np.testing.assert_allclose(running.state("w"), weights, rtol=1e-6)


def test_training_graphs_of_another_tool(command: Command, tmp_path: Path) -> None:
    steps, update, given = tmp_path / "train.onnx", tmp_path / "optimizer.onnx", tmp_path / "inputs.npz"
    peers.graph_of_steps(steps)
    peers.optimizer(update)
    peers.data(given, meta_n_accum=np.array([1]))
    arguments = ["train", steps, "--optimizer", update, "--data", given]
    plain, joined = command(*arguments, "--json"), command(*arguments, "--in-place", "--json")
    assert joined.code == 0
    assert joined.json["losses"] == plain.json["losses"]
    assert joined.json["plan"]["networks"]["train"]["buffers"] == 0
    peers.data(given)
    refused = command(*arguments, "--in-place")
    assert refused.code == 2
    assert "accumulate 2" in refused.err


@fast
def test_several_steps_for_an_update_are_refused() -> None:
    with pytest.raises(CompileError, match="accumulate 2: in place, a step updates the weights by its own gradients"):
        training_of(mlp(), Recipe(in_place=True, accumulate=2))
