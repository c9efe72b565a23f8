"""Constants that L2 does not hold: in the weight memory, where cores and the DMA read them, else in L3."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import pipeline
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.gather import Gather
from tilewright.ops.matmul import MatMul
from tilewright.pipeline import Compiled
from tilewright.planner.cluster.plan import Plan
from tilewright.program import Program
from tilewright.target.settings import Settings


def looked_up() -> Graph:
    """A row of a large table, through a large matrix."""
    random, b = np.random.default_rng(3), Builder("looked_up")
    number = b.input("number", TensorType("int32", (1,)))
    table = b.constant(random.standard_normal((1000, 64)).astype(np.float32), "table")
    weights = b.constant(random.standard_normal((64, 300)).astype(np.float32), "weights")
    (row,) = b(Gather(0), [table, number])
    b.output(b(MatMul(), [row, weights], ["y"])[0])
    return b.build()


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("weight_memory", "memory"), [(True, "WMEM"), (False, "L3")])
def test_the_largest_leave_l2(weight_memory: bool, memory: str) -> None:
    settings = Settings(l2=200_000, time_limit=1.0, engines=("cluster",), weight_memory=weight_memory)
    made = Compiled(*pipeline.stages(looked_up(), "siracusa", "looked_up", settings))
    assert isinstance(made.allocation, Plan)
    tables = {home.memory for owner, home in made.allocation.homes.items() if owner.startswith("table")}
    assert memory in tables
    assert Program(made, "looked_up", None, 0.0).check({"number": np.array([7], np.int32)}).agrees
