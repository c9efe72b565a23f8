"""Learned rounding is kept where it helps on samples that it was not learned from."""

from __future__ import annotations

import numpy as np
import pytest

from tests.quantiser.networks import Net, images
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.relu import Relu
from tilewright.quantiser.quantise import GIVEN_UP, Options, quantise
from tilewright.quantiser.rounding.learning import Fit, Moments, learned_rounding, moments_of
from tilewright.quantiser.rounding.rounding import errors_of
from tilewright.quantiser.weights import nearest, row_scales

CHANNELS, COLUMNS = 6, 40


def as_they_are(scales: Array) -> Array:
    return scales


def far_away(scales: Array) -> Array:
    """As where few factors near the given ones are short."""
    return np.asarray(scales * np.linspace(1.0, 2.5, len(scales)), np.float32)


def products(count: int, alike: float, seed: int) -> list[Array]:
    """Of the columns of samples that are made of few patterns, and of what each has alone."""
    random = np.random.default_rng(seed)
    patterns = np.random.default_rng(5).standard_normal((4, COLUMNS))
    made = alike * random.standard_normal((count, 4)) @ patterns + random.standard_normal((count, COLUMNS))
    return [np.outer(one, one)[None] for one in made]


def error(weights: Array, levels: Array, scales: Array, moments: Array) -> float:
    return float(errors_of(weights, levels, scales, moments[0]).sum())


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("fit", [as_they_are, far_away])
@pytest.mark.parametrize("count", [1, 8, 200])
@pytest.mark.parametrize("bits", [3, 8])
def test_the_error_on_samples_held_out_is_never_larger(bits: int, count: int, fit: Fit) -> None:
    weights = np.random.default_rng(1).standard_normal((CHANNELS, COLUMNS))
    scales = row_scales(weights, bits)
    moments = moments_of(products(count, 3.0, 2))
    found = learned_rounding(weights, scales, bits, moments, fit)
    plain = error(weights, nearest(weights, scales, bits), scales, moments.held_out)
    assert error(weights, found.levels, found.scales, moments.held_out) <= plain


@pytest.mark.fast
def test_what_few_samples_say_does_not_take_levels_away() -> None:
    """Samples that are not alike have nothing to teach; what is learned from a few of them is chance."""
    weights = np.random.default_rng(1).standard_normal((CHANNELS, COLUMNS))
    scales = row_scales(weights, 4)
    found = learned_rounding(weights, scales, 4, moments_of(products(8, 0.0, 2)), as_they_are)
    new = np.eye(COLUMNS)[None]
    plain = error(weights, nearest(weights, scales, 4), scales, new)
    assert error(weights, found.levels, found.scales, new) < 1.25 * plain


@pytest.mark.fast
def test_samples_that_are_alike_teach_much() -> None:
    weights = np.random.default_rng(1).standard_normal((CHANNELS, COLUMNS))
    scales = row_scales(weights, 4)
    found = learned_rounding(weights, scales, 4, moments_of(products(200, 10.0, 2)), as_they_are)
    new = np.sum(products(200, 10.0, 3), axis=0)
    plain = error(weights, nearest(weights, scales, 4), scales, new)
    assert error(weights, found.levels, found.scales, new) < plain / 2


@pytest.mark.fast
def test_moments_are_those_of_different_samples() -> None:
    found = moments_of(np.full((1, 1, 1), float(number)) for number in range(6))
    assert (found.seen.item(), found.held_out.item()) == (0 + 1 + 2 + 4 + 5, 3)
    alone = moments_of([np.ones((1, 1, 1))])
    assert isinstance(alone, Moments)
    assert alone.held_out.item() == 1


def depthwise() -> Graph:
    """Filters of single channels, whose sizes differ much."""
    net = Net(1, 3, 8, 8, seed=2)
    net.conv(16, 1, name="spread", spread=2.0)
    net.add(Relu())
    net.conv(16, groups=16, name="depthwise", spread=2.0)
    net.add(Relu())
    net.conv(8, 1, name="mixed")
    return net.graph()


def smooth(count: int, seed: int) -> Array:
    """Pictures whose neighbouring pixels are much alike, as they are in real ones."""
    coarse, fine = images(count, 3, 4, 4, seed=seed), images(count, seed=seed + 1)
    return np.asarray(np.kron(coarse, np.ones((2, 2))) + 0.01 * fine, np.float32)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("count", "notes"), [(4, (GIVEN_UP,)), (32, ())])
def test_a_network_becomes_no_worse(count: int, notes: tuple[str, ...]) -> None:
    """Each layer may be better alone, and all of them together worse: then that is said."""
    learned, plain = (
        quantise(depthwise(), smooth(count, 0), Options(processes=1, learn_rounding=on)).report for on in (True, False)
    )
    assert learned.snr_db >= plain.snr_db
    assert learned.notes == notes
