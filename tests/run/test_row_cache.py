"""A cache of rows that grows from call to call, written in its place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.caches import row_cache
from tests.support.states import calls
from tilewright import pipeline
from tilewright.pipeline import Compiled
from tilewright.planner.plan import Plan
from tilewright.program import Program
from tilewright.target.settings import Settings

POSITIONS = (0, 2, 5, 6, 7, -1)
"""The last two run over an end."""


def compiled(dtype: str, target: str) -> Compiled:
    settings = pipeline.DEFAULT if target == "generic" else Settings(time_limit=1.0)
    return Compiled(*pipeline.stages(row_cache(dtype=dtype), target, "rows", settings))


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
    assert next(step.option.mode for step in made.allocation.steps) == "in_l2"
    assert [node.op.kind for node in made.fitted.nodes] == ["WriteRows", "Relu"]
