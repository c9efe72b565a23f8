"""A cache of rows that grows from call to call, written in its place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.caches import remembering, row_cache
from tests.support.states import calls
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.pipeline import Compiled
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.schedule.interpret import interpret
from tilewright.program import Program
from tilewright.target.settings import DEFAULT, Settings

POSITIONS = (0, 2, 5, 6, 7, -1)
"""The last two run over an end."""


def compiled(dtype: str, target: str) -> Compiled:
    settings = DEFAULT if target == "generic" else Settings(time_limit=1.0)
    return Compiled(*pipeline.stages(row_cache(dtype=dtype), target, "rows", settings))


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", ["generic", "quad", "siracusa"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_rows_of_calls_stay(dtype: str, target: str) -> None:
    made, random = compiled(dtype, target), np.random.default_rng(0)
    new = random.integers(-9, 9, (len(POSITIONS), 1, 2, 3, 4)).astype(dtype)
    feeds = [{"new": rows, "position": np.array([at], np.int32)} for rows, at in zip(new, POSITIONS, strict=True)]
    wanted = np.stack([found["y"] for found in calls(made.graph, feeds)])
    found = Program(made, "rows", None, 0.0).run_steps({name: np.stack([f[name] for f in feeds]) for name in feeds[0]})
    np.testing.assert_array_equal(found["y"], wanted)


@pytest.mark.parametrize("target", ["quad", "siracusa"])
def test_nothing_but_the_new_rows_is_moved(target: str) -> None:
    made = compiled("int8", target)
    assert isinstance(made.allocation, Plan)
    assert next(step.option.mode for step in made.allocation.steps) == "in_place"
    assert [node.op.kind for node in made.fitted.nodes] == ["WriteRows", "Relu"]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("target", ["generic", "quad", "siracusa"])
def test_attention_sees_the_rows_of_all_calls(target: str) -> None:
    settings = DEFAULT if target == "generic" else Settings(time_limit=1.0)
    graph, random = remembering(), np.random.default_rng(1)
    made = Compiled(*pipeline.stages(graph, target, "rows", settings))
    feeds = [
        {"position": np.array([at], np.int32)}
        | {name: random.standard_normal((1, 2, 2, 4)).astype(np.float32) for name in "qkv"}
        for at in (0, 2, 4, 5)
    ]
    wanted = np.stack([found["y"] for found in calls(graph, feeds)])
    found = Program(made, "rows", None, 0.0).run_steps({name: np.stack([f[name] for f in feeds]) for name in feeds[0]})
    np.testing.assert_allclose(found["y"], wanted, atol=1e-5)


def test_the_schedule_means_the_same() -> None:
    """By numpy on real bytes, where rows that need not be moved are spoilt."""
    graph, random = remembering(), np.random.default_rng(1)
    made = Compiled(*pipeline.stages(graph, "siracusa", "rows", Settings(time_limit=1.0)))
    feeds = {name: random.standard_normal((1, 2, 2, 4)).astype(np.float32) for name in "qkv"}
    feeds |= {"position": np.array([3], np.int32)}
    wanted = evaluate(graph, feeds)
    found = interpret(made.schedule, feeds)
    np.testing.assert_allclose(found["y"], wanted["y"], atol=1e-5)
