"""Sums of quantised tensors as products with diagonal tiles."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.tiled import evaluate_tiled
from tilewright.errors import Refusal
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.passes import apply
from tilewright.targets.ita.arithmetic import Scale
from tilewright.targets.ita.layout import packed_bias
from tilewright.targets.ita.sums import SUMS_ON_ITA, ItaSum, summed
from tilewright.targets.ita.tiling import ItaRows

pytestmark = pytest.mark.fast
RNG = np.random.default_rng(7)


def graph_of(op: QLinearAdd, rows: int = 70) -> Graph:
    builder = Builder("net")
    builder.input("tiles", TensorType("int8", (2, 1, 64, 64)))
    builder.input("b", TensorType("int8", (rows, 40)))
    (a,) = builder.add(ItaRows(rows, 40), ["tiles"])
    builder.output(builder.add(op, [a, "b"])[0])
    return builder.build()


@pytest.mark.parametrize(
    ("a", "b", "offset", "zero"), [(93 * 100, 93 * 77, 0, 0), (40, 40, 17, -5), (255, 510, -999, 3)]
)
def test_sums_become_ita_s_and_stay_the_same(a: int, b: int, offset: int, zero: int) -> None:
    graph = graph_of(QLinearAdd(a, b, offset, full_range(12, "int8", zero)))
    made = apply(graph, (SUMS_ON_ITA,))
    assert sum(isinstance(node.op, ItaSum) for node in made.nodes) == 1
    given = {
        "tiles": RNG.integers(-128, 128, (2, 1, 64, 64)).astype(np.int8),
        "b": RNG.integers(-128, 128, (70, 40)).astype(np.int8),
    }
    wanted, got = (evaluate(one, given)[one.outputs[0]] for one in (graph, made))
    assert np.array_equal(wanted, got)


def test_a_sum_of_three() -> None:
    """The first sum is made by ITA then, and so the second one can be."""
    builder = Builder("net")
    builder.input("tiles", TensorType("int8", (2, 1, 64, 64)))
    (total,) = builder.add(ItaRows(70, 40), ["tiles"])
    for name in "bc":
        builder.input(name, TensorType("int8", (70, 40)))
        (total,) = builder.add(QLinearAdd(40, 40, 17, full_range(12, "int8")), [total, name])
    builder.output(total)
    made = apply(builder.build(), (SUMS_ON_ITA,))
    assert sum(isinstance(node.op, ItaSum) for node in made.nodes) == 2


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (QLinearAdd(257, 263, 0, full_range(9, "int8")), "its factors are not 8-bit factors times a common one"),
        (QLinearAdd(93, 93, 0, full_range(9, "int8", 0, "half_even")), "its rounding is half_even"),
        (QLinearAdd(257 * 3, 257 * 5, 0, full_range(9, "int8")), "its factor 257 is above 255"),
    ],
)
def test_other_sums_stay(op: QLinearAdd, reason: str) -> None:
    graph = graph_of(op)
    with pytest.raises(Refusal, match=reason):
        summed(graph, graph.nodes[-1])
    assert not any(isinstance(node.op, ItaSum) for node in apply(graph, (SUMS_ON_ITA,)).nodes)


def test_tile_by_tile() -> None:
    a, b = (RNG.integers(-128, 128, (2, 3, 64, 64)).astype(np.int8) for _ in range(2))
    w = RNG.integers(-128, 128, (2, 64, 64)).astype(np.int8)
    bias = packed_bias(RNG.integers(-999, 999, 64)).reshape(1, 192)
    op = ItaSum(Scale(77, 15, 2))
    (tiled,) = evaluate_tiled(op, [a, b, w, bias], {"r": 1, "c": 2})
    assert np.array_equal(tiled, op.numpy(a, b, w, bias))
    with pytest.raises(Refusal, match="two tiles of 64 x 64 are expected"):
        op.check(
            {"A": TensorType("int8", a.shape), "B": TensorType("int8", b.shape), "W": TensorType("int8", (1, 64, 64))}
        )
