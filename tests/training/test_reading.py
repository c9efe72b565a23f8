"""The command and `tw.train` read one network alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.training.networks import mlp, model, node, normalised, quantised_body, real
from tilewright.errors import CompileError
from tilewright.training.recipes import read_model

pytestmark = pytest.mark.fast


def recurrent() -> onnx.ModelProto:
    nodes = [
        node("LSTM", ["x", "W", "R", "B"], ["", "h"], hidden_size=5, name="lstm"),
        node("Squeeze", ["h", "first"], ["s"], name="last"),
        node("Gemm", ["s", "head.weight", "head.bias"], ["y"], transB=1, name="head"),
    ]
    weights = {"W": real(1, 20, 4), "R": real(1, 20, 5), "B": real(1, 40)}
    return model(nodes, (3, 1, 4), first=np.array([0]), **weights, **{"head.weight": real(3, 5), "head.bias": real(3)})


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("network", [mlp, normalised, recurrent, quantised_body])
def test_both_readers_give_the_same_training(network: Callable[[], onnx.ModelProto], tmp_path: Path) -> None:
    onnx.save(network(), path := tmp_path / "net.onnx")
    found, _ = read_model(path, "cross_entropy", "sgd:0.1", "all", seed=4)
    wanted = tw.train(path, optimizer=tw.SGD(0.1), seed=4).learner.training
    assert found.learned == wanted.learned
    assert [one.nodes for one in found.graphs.values()] == [one.nodes for one in wanted.graphs.values()]
    for name, state in wanted.states.items():
        np.testing.assert_array_equal(found.states[name].initial, state.initial, name)


@pytest.mark.parametrize(
    ("network", "names"), [(normalised, {"norm.scale", "norm.bias"}), (recurrent, {"W", "R", "B"})]
)
def test_weights_are_those_of_the_file(network: Callable[[], onnx.ModelProto], names: set[str], tmp_path: Path) -> None:
    """Not what an operator makes of them: the bias of both gates, a normalisation inside its convolution."""
    onnx.save(network(), path := tmp_path / "net.onnx")
    assert names <= set(read_model(path, "cross_entropy", "sgd:0.1", "all")[0].learned)


def test_dropout_of_a_file_drops(tmp_path: Path) -> None:
    onnx.save(mlp(), path := tmp_path / "net.onnx")
    training, _ = read_model(path, "cross_entropy", "sgd:0.1", "all", seed=7)
    assert training.states["dropout.counter"].initial.tolist() == [7]


def test_a_batch_is_that_of_the_network_unless_it_is_open(tmp_path: Path) -> None:
    proto, path = mlp(4), tmp_path / "net.onnx"
    onnx.save(proto, path)
    train = read_model(path, "cross_entropy", "sgd:0.1", "all")[0].train
    assert train.types[train.inputs[0]].shape == (4, 6)
    with pytest.raises(CompileError, match="batch 2: does not fit the sizes that are fixed in the model: 'x'"):
        read_model(path, "cross_entropy", "sgd:0.1", "all", batch=2)
    with pytest.raises(CompileError, match="batch 2: does not fit"):
        tw.train(proto, batch=2)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(proto, path)
    train = read_model(path, "cross_entropy", "sgd:0.1", "all", batch=3)[0].train
    assert [train.types[name].shape for name in train.inputs] == [(3, 6), (3,)]
