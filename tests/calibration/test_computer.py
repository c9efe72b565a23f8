"""Costs of a computer: samples of every size for each kernel, measured here, and what is predicted with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from tilewright import targets
from tilewright.analysis.costs import analysis_of
from tilewright.calibration import computer, measuring
from tilewright.calibration.elementwise import elementwise
from tilewright.calibration.values import Sample
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.relu import Relu
from tilewright.planner.arena.allocation import allocate
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.planner.schedule.schedule import Schedule
from tilewright.run.kernel_bench import Case
from tilewright.target.cost_model import kernel_key
from tilewright.target.costs import Costs
from tilewright.target.mapping import map_nodes
from tilewright.target.target import Target

CPU = targets.find("cpu")


def network() -> Graph:
    builder = Builder("network")
    x = builder.input("x", TensorType("float32", (512, 64)))
    w = builder.constant(np.ones((64, 64), np.float32))
    builder.output(builder.add(Relu(), [builder.add(MatMul(), [x, w])[0]])[0])
    return builder.build()


def scheduled(target: Target) -> Schedule:
    return lower_arena(allocate(map_nodes(network(), target)))


def cases_of(kind: type, found: Iterable[Sample]) -> list[Case]:
    return measuring.cases(CPU, [sample for sample in found if isinstance(sample[0], kind)])


def test_each_kernel_has_samples_from_the_smallest_to_the_largest() -> None:
    many = [case for case in cases_of(MatMul, computer.large()) for _ in range(computer.MOST)]
    chosen = computer.some_of(many)
    assert max(Counter(kernel_key(case.kernel, case.types) for case in chosen).values()) == computer.MOST
    sizes = [case.types["Y"].elements for case in chosen if case.types["A"].dtype == "float32"]
    assert {768, 128 * 1024} <= set(sizes)


@pytest.mark.in_turns(6)
def test_kernels_are_measured_here() -> None:
    """Costs that are fitted to what was measured are never negative."""
    chosen = computer.some_of(cases_of(Relu, measuring.samples(CPU)))
    found = measuring.fits(measuring.timings_here(CPU, chosen, lambda what: None))
    assert {fit.key.partition(".")[0] for fit in found} == {case.kernel.stem for case in chosen}
    assert all(min(fit.coefficients) >= 0 < max(fit.coefficients) for fit in found)


@pytest.mark.fast
def test_time_is_predicted_where_costs_are_known() -> None:
    known = Costs({kernel.stem: (1000.0, 0.0, 0.0, 0.0, 1.0) for kernel in CPU.engines[0].kernels}, layer=0.0)
    assert analysis_of(scheduled(replace(CPU, costs=Costs()))).predicted_seconds is None
    alone = analysis_of(scheduled(replace(CPU, costs=known)))
    together = analysis_of(scheduled(replace(CPU, costs=known, agents=replace(CPU.agents, threads=2))))
    assert alone.predicted_seconds == pytest.approx(2 * (1000 + 512 * 64) * 1e-9)
    assert together.predicted_seconds == pytest.approx(2 * (1000 + 256 * 64) * 1e-9)
    assert together.as_dict()["predicted_seconds"] == together.predicted_seconds


@pytest.mark.in_turns(5)
def test_kernels_of_bytes_have_samples_that_they_take() -> None:
    own = [kernel.samples() for engine in CPU.engines for kernel in engine.kernels if kernel.samples]
    found = [*(sample for some in own for sample in some), *elementwise(QLinearAdd)]
    stems = {case.kernel.stem for case in measuring.cases(CPU, found)}
    assert stems >= {"conv_dot", "matmul_dot", "quantised_concat", "concat_slices", "conv_panels"}
    assert stems & {"depthwise_dot", "depthwise_lanes"}
    assert stems >= {"conv_dot_twice", "conv_dot_sum", "winograd"}
