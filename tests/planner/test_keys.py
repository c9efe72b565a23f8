"""Names of a model are never taken for names of the planner's own: networks whose tensors, weights, inputs, outputs and
nodes are called like its buffers have the same plan as any other, run and agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.planner.networks import leftovers, quantised_convolutions
from tests.support.models import model, node
from tilewright.planner.keys import PARAMS, SCRATCH, buffer_key, staged_key, staging_key, tensor_key
from tilewright.target.settings import Settings

OWN = [
    SCRATCH, PARAMS, "tensor x", "tensor", "0 X", "3 (scratch)", "0 (params)", "staged", "staging", "0 staged X",
    "0", "1", "X", "Y", "W", "A", "B", "0 (scratch)", "tensor 0", "('0', 'X')", "('tensor', 'x')",
]  # fmt: skip
"""What the planner calls buffers, or called them, or shows them as."""

SMALL = Settings(2, 6_000, home="L3")
"""Little L1, and constants that are staged."""

SETTINGS = [
    ("generic", Settings()),
    ("siracusa", Settings(2)),
    ("siracusa", SMALL),
    ("siracusa", Settings(8, home="L3")),
]


def renamed(made: onnx.ModelProto) -> onnx.ModelProto:
    """With all tensors and nodes under the planner's names, as many as there are; others get numbers behind them."""
    graph = made.graph
    tensors = [value.name for value in (*graph.input, *graph.initializer)]
    tensors += [name for one in graph.node for name in one.output if name]
    numbered = (f"{name}, {number}" for number in itertools.count() for name in OWN)
    names = dict(zip(dict.fromkeys(tensors), itertools.chain(OWN, numbered), strict=False))
    for value in (*graph.input, *graph.output, *graph.initializer):
        value.name = names[value.name]
    for number, one in enumerate(graph.node):
        one.name = OWN[number % len(OWN)]
        for words in (one.input, one.output):
            words[:] = [names.get(word, word) for word in words]
    del graph.value_info[:]
    return made


def with_scratch() -> onnx.ModelProto:
    """Layers with working memory, weights and activations; small enough for little L1."""
    nodes = [
        node("MatMul", "x a", "t"), node("Softmax", "t", "s", axis=-1), node("MatMul", "s b", "u"),
        node("Add", "u c", "v"), node("Concat", "v x", "w", axis=1), node("Transpose", "w", "y", perm=[1, 0]),
    ]  # fmt: skip
    random = np.random.default_rng(0)
    sizes = {"a": (30, 40), "b": (40, 20), "c": (20,)}
    constants = {name: random.normal(0, 0.3, size).astype(np.float32) for name, size in sizes.items()}
    return model(nodes, {"x": (12, 30)}, ["y", "s"], constants)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("target", "settings"), SETTINGS, ids=["generic", "plain", "small", "l3"])
@pytest.mark.parametrize("make", [with_scratch, leftovers, quantised_convolutions])
def test_models_with_the_planners_names(make: Callable[[], onnx.ModelProto], target: str, settings: Settings) -> None:
    program = tw.compile(renamed(make()), target=target, settings=settings)
    assert program.check().agrees


@pytest.mark.in_turns(6)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OWN)
def test_a_weight_with_one_of_the_names(name: str) -> None:
    """The weight is staged, beside the layer's own buffers, of which one has that name."""
    nodes = [node("MatMul", "x w", "a"), node("Softmax", "a", "b", axis=-1), node("MatMul", "b v", "y")]
    nodes[0].input[1] = name
    random = np.random.default_rng(1)
    constants = {name: random.normal(0, 1, (24, 24)).astype(np.float32), "v": np.ones((24, 8), np.float32)}
    made = model(nodes, {"x": (5, 24)}, ["y"], constants)
    program = tw.compile(made, target="siracusa", settings=SMALL)
    plan = program.plan
    assert sum(len(step.staged) for step in plan.steps) >= 2, "the constants come from L3"
    assert program.check().agrees


@pytest.mark.fast
def test_no_two_keys_are_the_same() -> None:
    made = [tensor_key(name) for name in OWN]
    makers = (buffer_key, staged_key, staging_key)
    made += [make(step, name) for make in makers for step in (0, 3) for name in OWN]
    assert len(set(made)) == len(made)
