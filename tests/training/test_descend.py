"""Steps down gradients that are never whole: the same weights in less memory."""

from __future__ import annotations

import pytest

from tests.training.networks import Learner, mlp, real, training_of
from tests.training.test_in_step import LABELS, pairs
from tilewright import targets
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.convweightstep import ConvWeightStep
from tilewright.ops.reshape import Reshape
from tilewright.training.compiling import compile_training
from tilewright.training.descend import descending
from tilewright.training.graphs import Training
from tilewright.training.making import Recipe
from tilewright.training.optimizers import SGD
from tilewright.training.plan import ram_of

fast = pytest.mark.fast
IN_PLACE = Recipe(optimizer=SGD(0.1), in_place=True)


def deep_in_a_network() -> Graph:
    """Few pixels with many channels, and three classes."""
    builder = Builder("deep")
    y = builder.input("x", TensorType("float32", (1, 16, 2, 2)))
    for name, shape in (("body", (32, 16, 1, 1)), ("strided", (16, 32, 2, 2))):
        w = builder.constant(0.3 * real(*shape), f"{name}.weight")
        (y,) = builder.add(Conv((1, 1)), [y, w], name=name)
    (y,) = builder.add(Reshape((1, 16)), [y])
    w = builder.constant(0.3 * real(3, 16, 1, 1), "head.weight")
    (y,) = builder.add(Reshape((1, 16, 1, 1)), [y])
    (y,) = builder.add(Conv((1, 1)), [y, w], name="head")
    (y,) = builder.add(Reshape((1, 3)), [y])
    builder.output(y, "y")
    return builder.build()


def on(training: Training, target: str) -> Training:
    return descending(training, targets.find(target))


def steps(training: Training) -> int:
    return sum(isinstance(node.op, ConvWeightStep) for node in training.train.nodes)


@fast
def test_weights_are_the_same_and_gradients_gone() -> None:
    made = training_of(deep_in_a_network(), IN_PLACE)
    found = on(made, "cortex-m7")
    assert steps(found) == 3
    assert not any("convweightgrad" in name for name in found.train.types)
    pairs(Learner(made), Learner(found), real(1, 16, 2, 2), LABELS[:1])
    whole, less = (ram_of(compile_training(one)) for one in (made, found))
    assert whole - less >= 4 * 16 * 32 * 2


@fast
def test_products_of_rows() -> None:
    for batch, count in ((1, 2), (4, 1)):
        made = training_of(mlp(batch), IN_PLACE)
        found = on(made, "generic")
        assert steps(found) == count
        pairs(Learner(made), Learner(found), real(batch, 6), LABELS[:batch])


@fast
def test_what_stays_as_it_is() -> None:
    """Gradients that take no more than what they are made of; momentum; and clusters."""
    assert steps(on(training_of(mlp(batch=8), IN_PLACE), "generic")) == 0
    assert steps(on(training_of(mlp(batch=1), Recipe(optimizer=SGD(0.1, 0.9), in_place=True)), "generic")) == 0
    assert steps(on(training_of(deep_in_a_network(), IN_PLACE), "siracusa")) == 0
