"""A sum with one rounding takes the place of one with three only where every two bytes have the same sum."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.tflite_draws import scaled_add
from tests.targets.pulp.random_cases import Draw
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType, limits
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.passes import apply
from tilewright.passes.collapse_tflite_add import COLLAPSE_TFLITE_ADD


def graph_of(op: TfliteAdd, a: str, b: str) -> Graph:
    builder = Builder("sum")
    names = [builder.input("a", TensorType(a, (4,))), builder.input("b", TensorType(b, (4,)))]
    builder.output(*builder(op, names))
    return builder.build()


@pytest.mark.in_turns(3)
def test_every_sum_is_the_same() -> None:
    replaced = 0
    for seed in range(30):
        op, (left, right) = scaled_add(Draw(seed))
        a, b = left.dtype.name, right.dtype.name
        found = apply(graph_of(op, a, b), (COLLAPSE_TFLITE_ADD,)).nodes[0].op
        replaced += isinstance(found, QLinearAdd)
        x, y = np.meshgrid(*(np.arange(*limits(d)).astype(d) for d in (a, b)))
        np.testing.assert_array_equal(found.numpy(x, y), op.numpy(x, y))
    assert replaced >= 15


def test_wider_integers_stay_as_they_are() -> None:
    op, _ = scaled_add(Draw(3))
    wide = TfliteAdd(15, op.first, op.second, op.mul, op.exponent, op.requant)
    assert isinstance(apply(graph_of(wide, "int16", "int8"), (COLLAPSE_TFLITE_ADD,)).nodes[0].op, TfliteAdd)
