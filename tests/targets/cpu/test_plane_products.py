"""Convolutions whose filters are computed, and gradients of convolutions, against the operators' meaning."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case, check_kernels
from tests.targets.cpu.machine import ALWAYS_TESTED, needs, run_on
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.relu import Relu

pytestmark = pytest.mark.in_turns(8)

SHAPES = (
    # batch, channels and filters of a group, groups, image, window, strides, dilations, padding
    (2, 3, 5, 1, (6, 7), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    (1, 1, 19, 1, (12, 5), (10, 4), (2, 2), (1, 1), (4, 1, 4, 2)),
    (2, 16, 33, 1, (8, 8), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
    (3, 9, 21, 1, (9, 7), (1, 1), (2, 2), (1, 1), (0, 0, 0, 0)),
    (2, 12, 17, 1, (5, 6), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
    (1, 2, 3, 3, (11, 10), (3, 2), (1, 3), (2, 1), (2, 0, 1, 1)),
    (1, 4, 40, 1, (20, 18), (5, 3), (3, 2), (1, 2), (0, 3, 2, 0)),
    (1, 65, 2, 1, (3, 40), (2, 3), (1, 1), (1, 1), (0, 2, 1, 2)),
    (2, 3, 4, 2, (1, 50), (1, 5), (1, 4), (1, 1), (0, 1, 0, 3)),
    (2, 1, 1, 5, (9, 8), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    (2, 1, 1, 18, (7, 10), (3, 5), (2, 2), (1, 2), (1, 4, 0, 4)),
    (1, 1, 3, 4, (8, 8), (3, 3), (2, 1), (1, 1), (0, 1, 1, 0)),
    (1, 7, 34, 1, (19, 21), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
)
ACTIVATIONS: tuple[Op | None, ...] = (None, Relu(), Clip(-0.5, 6.0))


GRADIENTS = {"conv_input_grad_planes", "conv_weight_grad_planes"}


def some(random: Generator, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def cases(random: Generator) -> Iterator[Case]:
    for number, (batch, channels, filters, groups, size, kernel, strides, dilations, pads) in enumerate(SHAPES):
        window = {"strides": strides, "dilations": dilations}
        x, w = some(random, batch, groups * channels, *size), some(random, groups * filters, channels, *kernel)
        bias = some(random, groups * filters) if number % 2 else None
        activation = ACTIVATIONS[number % len(ACTIVATIONS)]
        op = Conv(**window, padding=pads, groups=groups, activation=activation)
        yield op, [x, w, bias]
        g = some(random, *op.numpy(x, w, bias).shape)
        starts = (*pads[:2], 0, 0)
        yield ConvInputGrad(**window, padding=starts, groups=groups, size=size), [g, w]
        yield ConvWeightGrad(**window, padding=pads, groups=groups, kernel=kernel), [x, g]


def test_portable_kernels() -> None:
    check_kernels([case for case in cases(default_rng(6)) if not isinstance(case[0], Conv)])


@pytest.mark.parametrize("processor", ALWAYS_TESTED)
def test_kernels(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of all kinds, channels that fill no tile, filters that fill no vector, several images and groups."""
    needs(processor)
    used = run_on(list(cases(default_rng(5))), processor, monkeypatch, inputs=3, tolerance=1e-5)
    assert used == {*GRADIENTS, "conv_computed", "depthwise_f32"}
