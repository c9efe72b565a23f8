"""Plans of awkward networks: they keep within their memories, and numpy gets the right outputs from them."""

from __future__ import annotations

import itertools
import random

import pytest
from benchmarks.differential.drawing import draw
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tests.planner.networks import NETWORKS
from tests.planner.planning import QUICK, known, prepared
from tests.support.examples import examples
from tilewright.target.settings import Settings

CORES = (1, 3, 8)
L1 = (2_000, 4_000, 16_000, 256 * 1024)
BUFFERING = ("single", "double", "auto")
HOMES = ("L2", "L3")

ENGINES = ((("cluster",), True), ((), True), ((), False))
"""With whether accelerators have the weight memory."""

ALL_SETTINGS = [
    Settings(cores, l1, None, home, buffering, engines, QUICK, weight_memory)
    for cores, l1, home, buffering in itertools.product(CORES, L1, HOMES, BUFFERING)
    for engines, weight_memory in ENGINES
]


CHOOSY = {"requantizedadd_tables", "gemm_b_rowmajor", "gemv_k4"}
"""Kernels that object to layers for which others are faster."""


CHOSEN = dict(zip(NETWORKS, random.Random(10).sample(ALL_SETTINGS, len(NETWORKS)), strict=True))
"""Each network with other settings: together they have every value of each."""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("name", NETWORKS)
def test_awkward_networks(name: str) -> None:
    network, settings = known(name), CHOSEN[name]
    made = network.check(settings, network.inputs())
    assert made.tile_bytes <= (settings.l1 or 0)
    assert set(made.homes) == set(made.mapped.graph.types)
    assert made.predicted >= made.bound
    wanted = {"single": {False}, "double": {False, True}}.get(settings.buffering, {False, True})
    assert {step.option.double for step in made.steps} <= wanted


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", ["quantised_convolutions", "narrow_products", "quantised_residual"])
@pytest.mark.parametrize("l1", [4_000, 6_000, 9_000])
def test_kernels_take_the_tiles_that_they_get(name: str, l1: int) -> None:
    """Also those at the ends, which may be smaller."""
    for step in known(name).plan(Settings(8, l1)).steps:
        grid, kernel = step.option.grid, step.option.kernel
        for corner in itertools.product(*({0, cut.count - 1} for cut in grid.cuts)):
            indices = dict(zip((cut.loop for cut in grid.cuts), corner, strict=True))
            unsupported_reason = kernel.unsupported_reason(grid.local_op(indices), grid.local_types(indices))
            assert unsupported_reason is None or kernel.stem in CHOOSY, (kernel.stem, indices, unsupported_reason)


@pytest.mark.in_turns(6)
@examples(6)
@given(seed=st.integers(0, 10_000), settings=st.sampled_from(ALL_SETTINGS))
def test_random_networks(seed: int, settings: Settings) -> None:
    case, _ = draw("mixed", seed, room=20_000)
    prepared(case.proto).check(settings, dict(case.feeds), tolerance=1e-4)


def test_double_buffering_is_used_where_it_is_asked_for() -> None:
    made = known("broadcasts").plan(Settings(8, 4_000, buffering="double"))
    assert any(step.option.double for step in made.steps)
    assert all(step.option.double for step in made.steps if step.option.grid.tiles > 1)


def test_the_plan_as_text() -> None:
    text = str(known("residual").plan(Settings(4, 16_000)))
    assert text.startswith("plan for 4 cores: ")
    assert " of 16000 bytes of L1, L2 arena " in text
    assert len(text.splitlines()) == 1 + len(known("residual").plan(Settings(4, 16_000)).steps)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("l1", "inside"), [(9_000, False), (24_000, True), (200_000, True)])
def test_stacks_are_in_l1_where_that_is_faster(l1: int, inside: bool) -> None:
    """Their 10 kB leave tiles enough of 24 kB, but not of 9 kB."""
    program = tw.compile(NETWORKS["quantised_residual"](), target="siracusa", settings=Settings(8, l1, time_limit=1.0))
    assert program.plan.budget.stacks_inside == inside
