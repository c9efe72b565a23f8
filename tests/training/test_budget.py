"""Steps with fewer activations kept give the same numbers in less RAM."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from tests.training.line import line
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph, verify
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.mul import Mul
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.sub import Sub
from tilewright.ops.tanh import Tanh
from tilewright.ops.where import Where
from tilewright.training.budget import within
from tilewright.training.compiling import Learner, compile_training
from tilewright.training.graphs import FIRST, Training, checked
from tilewright.training.loop import reference
from tilewright.training.plan import ram_of
from tilewright.training.program import in_bytes
from tilewright.training.recompute import Recomputing

fast = pytest.mark.fast
WIDTH, DEPTH = 256, 12
WEIGHTS = np.linspace(-2, 2, WIDTH).astype(np.float32)


def deep() -> Training:
    """Slopes before a dozen hyperbolic tangents, each of which the way back reads."""
    training = line(weights=WEIGHTS)
    infer = None
    return checked(Training("deep", _train(), training.update, infer, training.weights, training.buffers))


def _train() -> Graph:
    builder, kind = Builder("deep_train"), TensorType("float32", (WIDTH,))
    x, target = builder.input("x", kind), builder.input("label", kind)
    w, buffer = builder.state("w", WEIGHTS), builder.state("w.gradient", np.zeros_like(WEIGHTS))
    first, one = builder.state(FIRST, np.array([True])), builder.constant(np.array(1, np.float32))
    (y,) = builder(Mul(), [w, x])
    made = []
    for _ in range(DEPTH):
        (y,) = builder(Tanh(), [y])
        made.append(y)
    (apart,) = builder(Sub(), [y, target])
    (square,) = builder(Mul(), [apart, apart])
    (loss,) = builder(ReduceMean(axes=(0,), keepdims=False), [square])
    back = apart
    for y in reversed(made):
        (square,) = builder(Mul(), [y, y])
        (slope,) = builder(Sub(), [one, square])
        (back,) = builder(Mul(), [back, slope])
    (gradient,) = builder(Mul(), [back, x])
    (total,) = builder(Add(), [buffer, gradient])
    (kept,) = builder(Where(), [first, gradient, total])
    builder.output(loss, "loss")
    for name, tensor in (("w", w), ("w.gradient", kept), (FIRST, builder.constant(np.array([False])))):
        builder.set_next_state(name, tensor)
    return builder.build()


@pytest.mark.in_turns(3)
@fast
def test_every_choice_gives_the_same_bits_with_fewer_bytes() -> None:
    graph = deep().train
    known = Recomputing(graph)
    choices = known.choices()
    inputs = {name: np.linspace(-1, 1, WIDTH).astype(np.float32) for name in graph.inputs}
    wanted = evaluate(graph, inputs)
    assert len(choices) > 3
    assert [one.peak for one in choices] == sorted({one.peak for one in choices}, reverse=True)
    assert choices[-1].peak < 0.6 * choices[0].peak
    assert {one.forgets for one in choices} == {False, True}
    for one in choices:
        made = verify(known.rewritten(one.again, one.forgets))
        found = evaluate(made, inputs)
        for state, other in zip(graph.states, made.states, strict=True):
            np.testing.assert_array_equal(found[other.after], wanted[state.after])
        np.testing.assert_array_equal(found[made.outputs[0]], wanted[graph.outputs[0]])


@fast
def test_what_the_loss_needs_is_the_way_forward() -> None:
    known = Recomputing(deep().train)
    assert len(known.forward) == 1 + DEPTH + 3
    assert len(known.kept) == DEPTH + 1


@pytest.mark.in_turns(3)
def test_a_budget_is_kept_to_by_the_plan_and_losses_stay() -> None:
    training, compile_ = deep(), partial(compile_training, target="generic")
    whole = ram_of(compile_(training))
    found = within(training, whole - 3 * 4 * WIDTH, compile_)
    assert ram_of(found.learner) <= whole - 3 * 4 * WIDTH
    assert "computed again" in found.said
    assert len(found.activations) == DEPTH + 1
    assert 0 < sum(one.is_recomputed for one in found.activations) < len(found.activations)
    steps = [{name: np.full(WIDTH, 0.5, np.float32) for name in training.train.inputs}] * 2
    one, other = (reference(each, steps, 1) for each in (compile_(training), found.learner))
    assert one.losses == other.losses


@pytest.mark.in_turns(5)
def test_a_budget_is_tried_where_all_activations_are_too_much_for_the_target() -> None:
    training, compile_ = deep(), partial(compile_training, target="generic")
    whole = ram_of(compile_(training))
    limit = whole - 3 * 4 * WIDTH

    def small(one: Training) -> Learner:
        made = compile_(one)
        if ram_of(made) > limit:
            raise CompileError("target small", "is too small")
        return made

    found = within(training, whole, small)
    assert ram_of(found.learner) <= limit
    assert "computed again" in found.said
    with pytest.raises(CompileError, match="target small: is too small"):
        within(training, None, small)


def test_a_budget_that_fits_anyway_changes_nothing() -> None:
    found = within(deep(), 10**6, partial(compile_training, target="generic"))
    assert found.said == ""
    assert [one.bytes for one in found.activations] == [4 * WIDTH] * (DEPTH + 1)
    assert not any(one.is_recomputed for one in found.activations)


@pytest.mark.in_turns(3)
def test_a_budget_that_nothing_keeps_to_says_the_least() -> None:
    said = r"--ram 4096: a step needs ([\d,]+) bytes at the least that was found, and .*; '\w+' .* takes ([\d,]+) by"
    with pytest.raises(CompileError, match=said) as refused:
        within(deep(), 4096, partial(compile_training, target="generic"))
    found = re.search(said, str(refused.value))
    assert found is not None
    least, alone = (int(number.replace(",", "")) for number in found.groups())
    assert 4096 < alone <= least


@fast
@pytest.mark.parametrize(("text", "count"), [("", None), ("65536", 65536), ("64k", 65536), ("1MiB", 2**20)])
def test_bytes_are_read(text: str, count: int | None) -> None:
    assert in_bytes(text) == count


@fast
@pytest.mark.parametrize("text", ["0", "64q", "-1", "6.5k"])
def test_what_is_no_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(CompileError, match="is no number of bytes"):
        in_bytes(text)
