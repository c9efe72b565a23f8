"""Three graphs that share states by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.training.line import line
from tilewright import pipeline
from tilewright.errors import InternalError
from tilewright.ir.graph import verify
from tilewright.program import Program
from tilewright.run.steps import reference_steps
from tilewright.training.graphs import FIRST, checked, padded

fast = pytest.mark.fast


@fast
def test_states_of_all_graphs_have_one_order() -> None:
    assert list(line().states) == ["w", "w.gradient", FIRST]


@fast
def test_a_graph_with_all_states_leaves_the_others_alone() -> None:
    training = line()
    assert training.infer is not None
    graph = verify(padded(training.infer, list(training.states.values())))
    assert [state.name for state in graph.states] == list(training.states)
    assert all(state.before == state.after for state in graph.states)


@fast
def test_states_that_differ_are_a_fault() -> None:
    training = line()
    other = [replace(state, initial=state.initial + 1) for state in training.update.states if state.name == "w"]
    update = replace(training.update, states=(*other, *training.update.states[1:]))
    with pytest.raises(InternalError, match="state 'w' of update is not that of another graph"):
        checked(replace(training, update=update))


@pytest.mark.parametrize("which", ["train", "infer"])
def test_each_graph_runs_with_the_states_of_all(which: str) -> None:
    training = line()
    graph = padded(training.graphs[which], list(training.states.values()))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    steps = [dict(zip(graph.inputs, [row, row + 1], strict=False)) for row in x]
    program = Program(pipeline.compile_graph(graph, "generic"), "", None, 0.0)
    found = program.run_steps({name: np.stack([step[name] for step in steps]) for name in graph.inputs})
    for name, expected in reference_steps(graph, steps).items():
        np.testing.assert_allclose(found.outputs[name], expected, rtol=1e-6)


def test_an_update_compiles_without_inputs_and_outputs() -> None:
    training = line()
    update = padded(training.update, list(training.states.values()))
    assert pipeline.compile_graph(update, "generic").files["network.c"]
