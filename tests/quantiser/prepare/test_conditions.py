"""What prepares a network for its quantisation ensures what it is for: a pass that does nothing is caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.quantiser.networks import Net
from tests.quantiser.prepare.test_unit_rows import embedding
from tests.support.tflite_cases import HYBRID
from tilewright import pipeline
from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.matmul import MatMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import Pass, apply
from tilewright.passes.drop_identities import DROP_IDENTITIES
from tilewright.quantiser.prepare.hybrid import UNDO_HYBRID
from tilewright.quantiser.prepare.prepare import CHANNELS_SECOND, FOLD_FACTORS, FUSE_FILTER_BIAS, STRIP_QUANTISERS
from tilewright.quantiser.prepare.unit_rows import FUSE_UNIT_ROWS

pytestmark = pytest.mark.fast


def channels_last() -> Graph:
    net = Net(1, 6, 6, 3)
    net.add(Conv(channels_last=True), net.normal(8, 1, 1, 3))
    return net.graph()


def quantised() -> Graph:
    net = Net(2, 3)
    scale, zero = net.constant(np.array(0.5)), net.builder.constant(np.array(0, np.int8))
    net.add(QuantizeLinear(), scale, zero)
    net.add(DequantizeLinear(), scale, zero)
    return net.graph()


def quantised_weights() -> Graph:
    net = Net(2, 3)
    scale, zero = net.constant(np.array(0.5)), net.builder.constant(np.array(0, np.int8))
    weights = net.builder.constant(np.ones((3, 4), np.int8))
    (weights,) = net.builder.add(DequantizeLinear(), [weights, scale, zero])
    net.add(MatMul(), weights)
    return net.graph()


def added_bias() -> Graph:
    net = Net(1, 3, 6, 6)
    net.add(Conv(), net.normal(8, 3, 1, 1))
    net.add(Add(), net.normal(8, 1, 1))
    return net.graph()


def factors() -> Graph:
    net = Net(2, 3)
    net.add(MatMul(alpha=0.5, beta=2.0), net.normal(3, 4), net.normal(4))
    return net.graph()


def hybrid() -> Graph:
    made = pipeline.import_model(HYBRID["connected"](np.random.default_rng(3)))
    return apply(made, (DROP_IDENTITIES,))


CASES: list[tuple[Pass, Callable[[], Graph], str]] = [
    (CHANNELS_SECOND, channels_last, "still has channels last"),
    (STRIP_QUANTISERS, quantised, "still stands for numbers that were quantised"),
    (STRIP_QUANTISERS, quantised_weights, "still stands for numbers that were quantised"),
    (FUSE_FILTER_BIAS, added_bias, "which could do so itself"),
    (FOLD_FACTORS, factors, "multiplies by a factor that its constants could hold"),
    (FUSE_UNIT_ROWS, lambda: embedding(1), "divides vectors by their length"),
    (UNDO_HYBRID, hybrid, "rounds its input at run time"),
]


@pytest.mark.parametrize(("step", "make", "what"), CASES, ids=[step.name for step, _, _ in CASES])
def test_a_pass_that_does_nothing_is_caught(step: Pass, make: Callable[[], Graph], what: str) -> None:
    apply(make(), (step,))
    with pytest.raises(InternalError, match=f"what the pass ensures does not hold: .*{what}"):
        apply(make(), (replace(step, run=lambda graph: graph),))


def test_biases_of_filters_need_channels_second() -> None:
    with pytest.raises(InternalError, match="what the pass requires does not hold: still has channels last"):
        apply(channels_last(), (FUSE_FILTER_BIAS,))
