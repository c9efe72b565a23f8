from __future__ import annotations

import numpy as np
import pytest

from tests.quantiser.networks import classifier, images
from tilewright.quantiser.balance import LARGEST_ROW, balanced
from tilewright.quantiser.linear import linear_layers
from tilewright.quantiser.prepare.prepare import prepared
from tilewright.quantiser.samples.samples import samples_of
from tilewright.quantiser.samples.stream import silent
from tilewright.quantiser.weights import LARGEST_BIAS, QuantisedWeights, nearest, row_scales
from tilewright.quantiser.widths import ALL_EIGHT

RANDOM = np.random.default_rng(4)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_levels_fit_their_bits(bits: int) -> None:
    rows = RANDOM.standard_normal((5, 40))
    levels = nearest(rows, row_scales(rows, bits), bits)
    assert np.abs(levels).max() <= 2 ** (bits - 1) - 1


def test_few_bits_leave_the_largest_weights_out() -> None:
    rows = RANDOM.standard_normal((5, 400))
    assert np.all(row_scales(rows, 3) < 0.95 * np.abs(rows).max(axis=1) / 3)


def test_columns_that_matter_decide() -> None:
    rows = np.append(RANDOM.standard_normal((1, 200)), [[6.0]], axis=1)
    importance = np.ones(201)
    narrow = row_scales(rows, 3, np.where(np.arange(201) < 200, 1.0, 1e-6))
    importance[200] = 1e6
    assert narrow[0] < row_scales(rows, 3, importance)[0]


def test_a_row_is_not_finer_than_results_ask_for() -> None:
    rows = np.stack([RANDOM.standard_normal(64), 1e-9 * RANDOM.standard_normal(64)])
    scales = row_scales(rows, 8, None, np.array([0.1, 5.0]), 0.02, 0.05)
    assert scales[1] > 1e-6
    assert 5.0 / (scales[1] * 0.02) < 2.0**24


def test_a_bias_always_fits() -> None:
    rows = np.stack([np.zeros(8), 1e-12 * np.ones(8), np.ones(8)])
    bias = np.array([1e3, -1e4, 0.5])
    scales = row_scales(rows, 8, None, bias, 1e-3)
    made = QuantisedWeights(nearest(rows, scales, 8), scales, 0, bias)
    assert np.abs(made.bias_levels(1e-3)).max() <= LARGEST_BIAS * 1.01
    np.testing.assert_allclose(made.bias_floats(1e-3), bias, rtol=1e-3)


def test_a_channel_that_hardly_ever_fires_is_not_made_large() -> None:
    graph = classifier(spread=1.0)
    bias = next(name for name, value in graph.constants.items() if value.shape == (8,))
    graph.constants[bias][3] -= 4.0  # type: ignore[index]
    network = prepared(graph)
    made = balanced(network, samples_of(graph, images(24)), ALL_EIGHT, silent, 1)
    first = next(layer for layer in linear_layers(made).values() if layer.node.name == "first")
    rows = np.abs(first.rows(first.weights)).max(axis=1)
    assert rows.max() <= LARGEST_ROW * np.median(rows) * 1.1
