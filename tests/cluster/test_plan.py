"""Plans of awkward networks: they keep within their memories, and numpy gets the right outputs from them."""

from __future__ import annotations

import itertools
from functools import cache

import pytest
from benchmarks.differential import Report, grow
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.networks import NETWORKS
from tests.cluster.planning import QUICK, Prepared, prepared
from tests.examples import examples
from tilewright.target import Settings

pytestmark = pytest.mark.fast

CORES = (1, 3, 8)
L1 = (2_000, 4_000, 16_000, 256 * 1024)
BUFFERING = ("single", "double", "auto")
HOMES = ("L2", "L3")

ALL_SETTINGS = [
    Settings(cores, l1, None, home, buffering, (), QUICK)
    for cores, l1, home, buffering in itertools.product(CORES, L1, HOMES, BUFFERING)
]


@cache
def known(name: str) -> Prepared:
    return prepared(NETWORKS[name]())


@pytest.mark.parametrize("name", NETWORKS)
@examples(5)
@given(settings=st.sampled_from(ALL_SETTINGS))
def test_awkward_networks(name: str, settings: Settings) -> None:
    network = known(name)
    made = network.check(settings, network.inputs())
    assert made.near_bytes <= (settings.l1 or 0)
    assert set(made.homes) == set(made.mapped.graph.types)
    assert made.predicted >= made.bound
    wanted = {"single": {False}, "double": {False, True}}.get(settings.buffering, {False, True})
    assert {step.way.double for step in made.steps} <= wanted


@examples(10)
@given(seed=st.integers(0, 10_000), settings=st.sampled_from(ALL_SETTINGS))
def test_random_networks(seed: int, settings: Settings) -> None:
    net = grow(seed, 8, Report())
    model, feeds = net.whole(net.outputs())
    prepared(model).check(settings, feeds, tolerance=1e-4)


def test_double_buffering_is_used_where_it_is_asked_for() -> None:
    made = known("broadcasts").plan(Settings(8, 4_000, buffering="double"))
    assert any(step.way.double for step in made.steps)
    assert all(step.way.double for step in made.steps if step.way.grid.tiles > 1)


def test_the_plan_as_text() -> None:
    text = str(known("residual").plan(Settings(4, 16_000)))
    assert text.startswith("plan for 4 cores: ")
    assert " of 16000 bytes near, far arena " in text
    assert len(text.splitlines()) == 1 + len(known("residual").plan(Settings(4, 16_000)).steps)
