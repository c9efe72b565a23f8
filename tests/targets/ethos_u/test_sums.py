"""Sums of words beside an NPU: the core's vectors have 32 bits, and so have they."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.errors import instance
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.targets.ethos_u import numerics

SIZE = 4000


def total(kinds: tuple[str, str], result: str, ratios: tuple[float, float]) -> Graph:
    """Of operands whose scales have these ratios to that of the sum, in as many bits as there are."""
    builder = Builder("sum")
    names = [builder.input(name, TensorType(kind, (1, SIZE))) for name, kind in zip("ab", kinds, strict=True)]
    shift = 29 - int(np.ceil(np.log2(max(ratios))))
    mul_a, mul_b = (round(ratio * 2.0**shift) for ratio in ratios)
    builder.output(builder(QLinearAdd(mul_a, mul_b, 0, full_range(shift, result)), names)[0])
    return builder.build()


@pytest.mark.parametrize(
    ("kinds", "result", "ratios"),
    [
        (("int16", "int8"), "int8", (0.00358, 0.604)),
        (("int16", "int8"), "int16", (0.97, 90.1)),
        (("int16", "int16"), "int16", (0.7113, 0.50001)),
    ],
)
def test_words_are_added_in_32_bits(kinds: tuple[str, str], result: str, ratios: tuple[float, float]) -> None:
    graph = total(kinds, result, ratios)
    made = numerics.run(graph)
    (node,) = made.nodes
    assert instance(node.op, QLinearAdd).fits_32(*kinds)
    assert not instance(graph.nodes[0].op, QLinearAdd).fits_32(*kinds)
    draws = np.random.default_rng(1)
    reach = {"int8": 128, "int16": 1 << 15}
    given = {
        name: draws.integers(-reach[kind], reach[kind], (1, SIZE), kind) for name, kind in zip("ab", kinds, strict=True)
    }
    before, after = (next(iter(evaluate_outputs(one, given).values())).astype(int) for one in (graph, made))
    assert np.abs(before - after).max() <= 1
    assert (before != after).mean() < (0.02 if result == "int8" else 0.6)


def test_factors_that_32_bits_do_not_hold_stay_as_they_are() -> None:
    """Both lie in the middle between two: results would be a step off."""
    graph = total(("int16", "int16"), "int16", (23000.5 / 2**15, 12000.5 / 2**15))
    assert numerics.run(graph).nodes[0].op == graph.nodes[0].op
