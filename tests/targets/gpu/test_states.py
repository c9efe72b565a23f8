"""States that the GPU keeps between calls, and copies around layers of the processor, loops and branches: on a driver
whose memory is not where the arena is."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.support import control_flow, states
from tests.targets.gpu.fake import Fake
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.cumsum import CumSum
from tilewright.ops.gather import Gather
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.run.library import LoadedNetwork

CALLS = 4
"""The first one loads kernels, the second records graphs, later ones launch these."""


def counter(on_processor: bool) -> Graph:
    """total = total + relu(x), which a layer of the processor may read."""
    builder = Builder("counter")
    x = builder.input("x", TensorType("float32", (4,)))
    total = builder.state("total", np.array([10, 20, 30, 40], np.float32))
    (positive,) = builder(Relu(), [x])
    (new,) = builder(Add(), [total, positive])
    builder.set_next_state("total", new)
    (read,) = builder(CumSum(0) if on_processor else Mul(), [new] if on_processor else [new, new])
    builder.output(read, "y")
    return builder.build()


def check_calls(f: LoadedNetwork, graph: Graph, there: bool = False) -> None:
    """With outputs of the computer, or that stay `there`."""
    feeds = states.feeds_of(graph, CALLS)
    for wanted, given in zip(states.calls(graph, feeds), feeds, strict=True):
        found = f.on_device(**given) if there else f(**given)
        for one, exact in zip(found if isinstance(found, tuple) else (found,), wanted.values(), strict=True):
            np.testing.assert_allclose(np.asarray(one), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.one_in(4)) for name in states.NETWORKS])
def test_states(fake: Fake, name: str) -> None:
    graph = states.NETWORKS[name]()
    f = fake.load(graph)
    check_calls(f, graph)
    f.reset()
    check_calls(f, graph, there=True)


@pytest.mark.parametrize("on_processor", [False, True])
def test_where_states_are(fake: Fake, on_processor: bool) -> None:
    """On the GPU unless the processor needs them too."""
    graph = counter(on_processor)
    f = fake.load(graph)
    check_calls(f, graph)
    assert ("counter_kept" in fake.text) == (not on_processor)


@pytest.mark.in_turns(6)
def test_contexts_have_states_of_their_own(fake: Fake) -> None:
    gc.collect()
    before = fake.allocated
    f = fake.load(counter(False))
    x = np.arange(4, dtype=np.float32)
    other, (first, second) = f.context(), (f(x), f(x))
    np.testing.assert_array_equal(other(x), first)
    np.testing.assert_array_equal(other(x), second)
    both = fake.allocated
    del other
    gc.collect()
    assert fake.allocated < both
    del f
    gc.collect()
    assert fake.allocated == before


def test_measuring_changes_nothing(fake: Fake) -> None:
    """What a call brings to the GPU may be written over there: it is brought again, and states are as before."""
    builder = Builder("picked")
    rows = builder.constant(np.arange(40, dtype=np.float32).reshape(10, 4), "rows")
    index, x = builder.input("index", TensorType("int64", (4,))), builder.input("x", TensorType("float32", (4, 4)))
    total = builder.state("total", np.zeros((4, 4), np.float32))
    (found,) = builder(Gather(0), [rows, index])
    (summed,) = builder(Add(), [total, found])
    builder.set_next_state("total", summed)
    (y,) = builder(Mul(), [summed, x])
    (z,) = builder(Relu(), [y])
    builder.output(z, "z")
    f = fake.load(builder.build())
    given = {"index": np.array([9, 0, 3, 3]), "x": np.full((4, 4), 2, np.float32)}
    expected = 2 * np.arange(40, dtype=np.float32).reshape(10, 4)[given["index"]]
    for call in range(1, 6):
        np.testing.assert_array_equal(f(**given), call * expected)
        assert (f.gpu_microseconds(3) is not None) == (call > 1)


def test_contexts_in_threads(fake: Fake) -> None:
    """One waits for the other; each has its own state."""
    graph = counter(False)
    f = fake.load(graph)
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(check_calls, one, graph) for one in (f, f.context(), f.context())]:
            done.result()


@pytest.mark.in_turns(6)
@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", range(3))
def test_loops_and_branches(fake: Fake, number: int) -> None:
    model, feeds = control_flow.network(number)
    graph = pipeline.import_model(model, max_trips=6)
    f, wanted = fake.load(graph), evaluate_outputs(graph, feeds)
    for _ in range(CALLS):
        found = f(**feeds)
        for one, exact in zip(found if isinstance(found, tuple) else (found,), wanted.values(), strict=True):
            np.testing.assert_allclose(one, exact, rtol=1e-4, atol=1e-5)
