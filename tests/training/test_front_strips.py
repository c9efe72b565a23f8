"""The first layers of a step in strips of rows: the same loss, and the same weights but for the order of sums."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.training.networks import mlp, training_of
from tilewright.errors import CompileError, Refusal
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.relu import Relu
from tilewright.ops.tanh import Tanh
from tilewright.training.budget import within
from tilewright.training.compiling import compile_training
from tilewright.training.front_strips import in_front_strips
from tilewright.training.loop import reference
from tilewright.training.making import Recipe
from tilewright.training.optimizers import SGD
from tilewright.training.plan import ram_of
from tilewright.training.program import TrainingProgram
from tilewright.training.recompute import Recomputing

fast = pytest.mark.fast
IN_PLACE = Recipe(optimizer=SGD(0.1), in_place=True)
SIZE, WIDTH = 24, 4
Layer = tuple[int, int, bool, bool]
"""Size of the window, stride, whether it is depthwise, whether what it reads is added to its result."""
FALLING: tuple[Layer, ...] = ((3, 1, False, False), (3, 2, True, False), (1, 1, False, True), (3, 2, False, False))


def images(layers: tuple[Layer, ...], padded: bool = True, batch: int = 1, curved: bool = True) -> Graph:
    random, builder = np.random.default_rng(7), Builder("images")
    y = builder.input("x", TensorType("float32", (batch, WIDTH, SIZE, SIZE)))
    for number, (taps, stride, is_depthwise, is_added) in enumerate(layers):
        shape = (WIDTH, 1 if is_depthwise else WIDTH, taps, taps)
        w = builder.constant((random.normal(size=shape) / taps).astype(np.float32), f"w{number}")
        b = builder.constant(random.normal(size=WIDTH).astype(np.float32) / 4, f"b{number}")
        op = Conv((stride, stride), padding=(taps // 2 * padded,) * 4, groups=WIDTH if is_depthwise else 1)
        (made,) = builder.add(op, [y, w, b], name=f"conv{number}")
        if is_added and builder.types[made] == builder.types[y]:
            (made,) = builder.add(Add(), [made, y], name=f"sum{number}")
        y = made
        if curved:
            (y,) = builder.add(Tanh() if number % 2 else Relu(), [made], [f"a{number}"], f"a{number}")
    (y,) = builder.add(ReduceMean((2, 3), False), [y], name="mean")
    (y,) = builder.add(MatMul(), [y, builder.constant(np.eye(WIDTH, 3, dtype=np.float32), "head")], name="head")
    builder.output(y, "y")
    return builder.build()


def feeds(graph: Graph) -> dict[str, Array]:
    random = np.random.default_rng(1)
    kinds = {name: graph.types[name] for name in graph.inputs}
    return {
        name: np.full(kind.shape, 2, np.int32)
        if kind.dtype == "int32"
        else random.normal(size=kind.shape).astype(np.float32)
        for name, kind in kinds.items()
    }


def same_step(graph: Graph, other: Graph) -> None:
    given = feeds(graph)
    wanted, found = evaluate(graph, given), evaluate(other, given)
    np.testing.assert_allclose(found[other.outputs[0]], wanted[graph.outputs[0]], rtol=1e-6)
    for state, same in zip(graph.states, other.states, strict=True):
        one, two = wanted[state.after], found[same.after]
        np.testing.assert_allclose(
            two, one, rtol=1e-5, atol=1e-6 * max(1.0, float(np.abs(one).max())), err_msg=state.name
        )


LAYERS = st.tuples(st.sampled_from([1, 2, 3, 5]), st.integers(1, 3), st.booleans(), st.booleans())


@pytest.mark.in_turns(3)
@fast
@examples(12)
@given(
    layers=st.lists(LAYERS, min_size=2, max_size=4),
    padded=st.booleans(),
    batch=st.integers(1, 2),
    curved=st.booleans(),
    count=st.integers(2, 7),
)
@example(layers=[(3, 1, False, False)] * 3, padded=True, batch=1, curved=False, count=3)
def test_any_convolutions(layers: list[Layer], padded: bool, batch: int, curved: bool, count: int) -> None:
    """Without activations, what only a sum of window products reads needs more rows than are added up."""
    try:
        graph = images(tuple(layers), padded, batch, curved)
    except (CompileError, Refusal):  # no pixel is left
        return
    known = Recomputing(training_of(graph, IN_PLACE).train)
    for activation in known.kept:
        found = in_front_strips(known, activation, count)
        if found is not None:
            same_step(known.graph, found)


@fast
def test_nothing_large_is_whole() -> None:
    known = Recomputing(training_of(images(FALLING), IN_PLACE).train)
    found = in_front_strips(known, "a3", 12)
    assert found is not None
    same_step(known.graph, found)
    inner = set(known.graph.inputs) | {"a3"}
    row = 4 * WIDTH * SIZE
    made = {node.key: found.types[node.key].bytes for node in found.nodes}
    assert max(size for name, size in made.items() if name not in inner) <= 12 * row < SIZE * row


@fast
def test_what_others_read_is_not_in_front() -> None:
    """Not what the way forward reads past the activation."""
    known = Recomputing(
        training_of(images(((3, 1, False, False), (3, 1, False, True), (3, 2, False, False))), IN_PLACE).train
    )
    assert in_front_strips(known, "conv1", 4) is None
    assert in_front_strips(known, "a1", 4) is not None


@pytest.mark.in_turns(6)
def test_a_budget_that_only_strips_keep_to() -> None:
    """As C: the same losses and weights as numpy's."""
    training = training_of(images(FALLING), IN_PLACE)
    known = Recomputing(training.train)
    fewest = known.choices()[-1]
    budget = (
        ram_of(compile_training(training.with_graphs(train=known.rewritten(fewest.again, fewest.forgets)))) * 3 // 4
    )
    found = within(training, budget, compile_training, partial(compile_training, in_little_ram=("infer",)))
    assert "strips of rows, on the way back too" in found.said
    assert sum(one.is_recomputed for one in found.activations) >= 3
    assert ram_of(found.learner) <= budget
    program = TrainingProgram(found.learner)
    steps = [feeds(training.train)] * 3
    assert program.check(steps, 1).agrees
    plain, strips = (reference(one, steps, 1) for one in (compile_training(training), found.learner))
    np.testing.assert_allclose(strips.losses, plain.losses, rtol=1e-5)


@pytest.mark.in_turns(3)
def test_clusters_compute_in_tiles_anyway() -> None:
    training = training_of(mlp(), IN_PLACE)
    plain, small = (compile_training(training, "snitch", in_little_ram=nets) for nets in ((), ("infer",)))
    assert ram_of(small) == ram_of(plain)
