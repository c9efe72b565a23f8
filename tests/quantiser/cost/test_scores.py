"""Decisions are compared along the axis of classes, row by row: a picture of scores has one for each pixel."""

from __future__ import annotations

import numpy as np
import pytest

from tests.quantiser.networks import Net
from tilewright.errors import CompileError
from tilewright.ir.op import Op
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose
from tilewright.quantiser.cost.measure import accuracy
from tilewright.quantiser.cost.scores import agreement, class_axis

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("ops", "axis"),
    [
        ((), 1),
        ((Sigmoid(),), 1),
        ((Transpose((0, 2, 3, 1)), Relu()), 3),
        ((Transpose((0, 2, 3, 1)), Transpose((0, 3, 1, 2))), 1),
        ((Softmax(2),), 2),
        ((Reshape((1, 320)),), -1),
    ],
)
def test_the_axis_of_classes(ops: tuple[Op, ...], axis: int) -> None:
    net = Net(1, 3, 8, 8)
    net.conv(5)
    for op in ops:
        net.add(op)
    net.builder.output(net.at)
    assert class_axis(net.builder.build(), net.at) == axis


def test_pixels_are_counted_one_by_one() -> None:
    scores = np.random.default_rng(0).standard_normal((1, 3, 4, 4))
    other = scores.copy()
    other[0, :, 0, 0] = scores[0, ::-1, 0, 0] if scores[0, :, 0, 0].argmax() != 1 else (9.0, 0.0, 0.0)
    assert agreement(scores, other, 1) == 15 / 16


def test_labels_of_pixels() -> None:
    scores = np.random.default_rng(0).standard_normal((1, 3, 4, 5))
    labels = scores.argmax(axis=1)
    assert accuracy(labels)({"y": scores}, 0) == 1.0
    assert accuracy((labels + 1) % 3)({"y": scores}, 0) == 0.0
    with pytest.raises(CompileError, match="classes 0 to 2"):
        accuracy(labels + 3)({"y": scores}, 0)
