"""States: what may be made in place of the old value is, all else is copied, and nothing is computed differently."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.states import (
    NETWORKS,
    accumulator,
    calls,
    cell,
    crossed,
    feeds_of,
    random_network,
    shift,
    streaming_conv,
    swapped,
    window,
)
from tilewright import pipeline
from tilewright.errors import CompileError, InternalError
from tilewright.ir.graph import Builder, Graph, State, verify
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.identity import Identity
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass, apply
from tilewright.passes.separate_states import separate_states


def separated(graph: Graph, joins: bool = False) -> Graph:
    return apply(graph, (separate_states(joins),))


def copies(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes if isinstance(node.op, Identity) and node.name.startswith("state ")]


@pytest.mark.parametrize(("make", "joins", "wanted"), [
    (accumulator, False, []), (window, False, []), (streaming_conv, False, []),
    (shift, False, ["state register"]), (shift, True, ["state register"]),
    (crossed, False, ["state q"]),
    (cell, False, ["state h"]),
    (swapped, False, ["state two", "state one", "state two", "state last", "state reset"]),
])  # fmt: skip
def test_only_what_has_to_be_is_copied(make, joins, wanted) -> None:  # type: ignore[no-untyped-def]
    assert sorted(copies(separated(make(), joins))) == sorted(wanted)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_lowering_keeps_what_a_network_means(name: str, target: str) -> None:
    graph = NETWORKS[name]()
    feeds = feeds_of(graph, 4)
    lowered = pipeline.stage(graph, target, "lowered")
    assert [state.name for state in lowered.states] == [state.name for state in graph.states]
    for found, wanted in zip(calls(lowered, feeds), calls(graph, feeds), strict=True):
        for output in wanted:
            np.testing.assert_allclose(found[output], wanted[output], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(60))
def test_random_networks_mean_the_same(seed: int) -> None:
    graph = random_network(seed)
    feeds, found = feeds_of(graph, 4), separated(graph, joins=bool(seed % 2))
    for one, other in zip(calls(found, feeds), calls(graph, feeds), strict=True):
        assert all((one[name] == other[name]).all() for name in other)
    assert separated(found, joins=bool(seed % 2)) is found


def test_a_state_is_kept_in_the_layout_that_costs_least() -> None:
    lowered = pipeline.stage(streaming_conv(), "siracusa", "lowered")
    assert lowered.states[0].initial.shape == (1, 4, 10, 2)
    moved = [lowered.types[node.inputs[0]].shape for node in lowered.nodes if isinstance(node.op, Transpose)]
    assert moved == [(1, 2, 1, 10), (1, 5, 10, 8)]  # the input and the output, which callers see


def test_a_reader_of_the_old_value_comes_before_who_makes_the_new_one() -> None:
    b = Builder("late")
    x = b.input("x", TensorType("int32", (4,)))
    s = b.state("s", np.zeros(4, np.int32))
    (new,) = b(Add(), [x, x])
    (y,) = b(Add(), [s, x], ["y"])
    b.output(y)
    b.set_next_state("s", new)
    found = separated(b.build())
    assert not copies(found)
    assert [node.key for node in found.nodes] == ["y", new]


def test_a_pass_that_drops_a_state_is_found() -> None:
    renamed = replace(accumulator(), states=(replace(accumulator().states[0], name="other"),))
    with pytest.raises(InternalError, match="sum have become other"):
        apply(accumulator(), (Pass("renaming", lambda _: renamed),))
    with pytest.raises(InternalError, match="reads tensor 'sum' before anything defines it"):
        apply(accumulator(), (Pass("forgetful", lambda graph: replace(graph, states=())),))


def test_a_pass_that_brings_readers_behind_the_new_value_is_found() -> None:
    graph = separated(window())
    turned = replace(graph, nodes=(graph.nodes[1], graph.nodes[0], *graph.nodes[2:]))
    with pytest.raises(InternalError, match="the pass has broken the graph"):
        apply(graph, (Pass("turning", lambda _: turned),))


@pytest.mark.parametrize(("change", "what"), [
    ({"after": ""}, "nothing says what it becomes"),
    ({"after": "nobody"}, "nothing defines 'nobody'"),
    ({"after": "y"}, "must be of one type"),
])  # fmt: skip
def test_a_state_that_is_not_one_is_refused(change: dict[str, str], what: str) -> None:
    graph = window()
    with pytest.raises(CompileError) as error:
        verify(replace(graph, states=(replace(graph.states[0], **change),)))  # type: ignore[arg-type]
    assert what in str(error.value)
    assert "state 'frames'" in str(error.value)


def test_an_input_is_no_state() -> None:
    graph = window()
    other = State("other", "x", "x", np.zeros(graph.types["x"].shape, np.float32))
    with pytest.raises(CompileError, match="state 'other': 'x' is its value when a call begins, but something else"):
        verify(replace(graph, states=(*graph.states, other)))


def test_states_have_names_of_their_own() -> None:
    builder = Builder("twice")
    builder.state("s", np.zeros(3, np.int8))
    with pytest.raises(CompileError, match="is defined twice"):
        builder.state("s", np.zeros(3, np.int8))
    with pytest.raises(CompileError, match="is not defined"):
        builder.set_next_state("t", "s")
