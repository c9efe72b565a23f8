"""Convolutions over raw audio: long, thin, with windows of many taps. Their cycles are predicted."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.support.models import model, node

RNG = np.random.default_rng(2)

CASES = {
    "a resampler": (2400, 1, 41, 3, (19, 22)),
    "a resampler of many phases": (2205, 40, 100, 441, (9, 90)),
    "a short-time transform": (3200, 66, 320, 160, (160, 160)),
}
"""Length, filters, taps, stride, padding."""


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", CASES)
def test_the_prediction_is_within_a_fifth(name: str) -> None:
    length, filters, taps, stride, pads = CASES[name]
    weights = RNG.standard_normal((filters, 1, taps)).astype(np.float32)
    nodes = [node("Conv", "x w", "y", strides=[stride], pads=list(pads))]
    program = tw.compile(model(nodes, {"x": (1, 1, length)}, ["y"], {"w": weights}), target="siracusa")
    (layer,) = [layer for layer in program.profile().profile.layers if layer.operator == "Conv"]
    assert layer.kernel == "conv_blocks_f32"
    assert layer.predicted == pytest.approx(layer.time.cycles, rel=0.2)
