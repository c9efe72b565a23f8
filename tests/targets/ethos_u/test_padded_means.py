"""Means over windows that padding cuts, as convolutions of parts of an image."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import TensorType
from tilewright.ops._ethosu import EthosU
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.passes import apply
from tilewright.targets.ethos_u.numerics import ETHOS_U_NUMERICS
from tilewright.targets.ethos_u.padded_means import MOST_PARTS, spans
from tilewright.targets.ethos_u.parts import ethos_u_parts

REASON = "pip install 'tilewright[ethos-u]'"
NPU = "ethos-u55-128"
CASES = [
    # image, kernel, strides, padding
    ((9, 7), (3, 3), (1, 1), (1, 1, 1, 1)),
    ((12, 12), (5, 3), (1, 2), (2, 1, 2, 1)),
    ((8, 9), (3, 2), (2, 1), (0, 1, 1, 0)),
    ((3, 3), (5, 5), (1, 1), (2, 2, 2, 2)),
    ((11,), (4,), (3,), (1, 2)),
]


def pooled(case: tuple[tuple[int, ...], ...]) -> Graph:
    sizes, kernel, strides, padding = case
    builder = Builder("pooled")
    x = builder.input("x", TensorType("int8", (1, 8, *sizes)))
    requant = Requant(14, "int8", -128, 127, 3, Rounding.HALF_EVEN)
    op = QLinearAveragePool(strides, (1,) * len(sizes), padding, kernel=kernel, x_zero=-7, mul=12345, requant=requant)
    builder.output(builder.add(op, [x], ["y"], "pool")[0])
    return builder.build()


def test_windows_by_what_they_have() -> None:
    for size, taps, stride, before, count in ((9, 3, 1, 1, 9), (12, 5, 1, 2, 12), (8, 3, 2, 0, 4), (3, 5, 1, 2, 3)):
        found = spans(size, taps, stride, before, count)
        assert found is not None
        seen = [
            (start, start + one.taps) for one in found for start in range(one.first, one.end - one.taps + 1, stride)
        ]
        starts = [position * stride - before for position in range(count)]
        assert seen == [(max(start, 0), min(start + taps, size)) for start in starts]
    assert spans(4, 2, 1, 2, 4) is None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_means_of_what_is_inside(case: tuple[tuple[int, ...], ...]) -> None:
    graph = pooled(case)
    made = apply(graph, (ETHOS_U_NUMERICS,))
    kinds = {type(node.op) for node in made.nodes}
    assert Conv in kinds
    assert QLinearAveragePool not in kinds
    assert made.nodes[-1].outputs == ("y",)
    assert sum(isinstance(node.op, Conv) for node in made.nodes) <= MOST_PARTS
    for seed in range(3):
        x = {"x": np.random.default_rng(seed).integers(-128, 128, graph.types["x"].shape, np.int8)}
        (wanted,), (found,) = (list(evaluate_outputs(one, x).values()) for one in (graph, made))
        assert np.abs(wanted.astype(int) - found).max() <= 1
        assert np.mean(wanted != found) < 0.25


def test_windows_outside_the_image_stay_what_they_are() -> None:
    graph = pooled(((4, 4), (2, 2), (1, 1), (2, 2, 2, 2)))
    made = apply(graph, (ETHOS_U_NUMERICS,))
    assert [type(node.op) for node in made.nodes] == [QLinearAveragePool]


def test_the_npu_computes_them_in_one_job() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    graph = apply(pooled(CASES[0]), (ETHOS_U_NUMERICS,))
    made = apply(graph, ethos_u_parts(NPU))
    assert sum(isinstance(node.op, EthosU) for node in made.nodes) == 1
    assert not {Conv, Concat} & {type(node.op) for node in made.nodes}
    x = {"x": np.random.default_rng(9).integers(-128, 128, graph.types["x"].shape, np.int8)}
    (wanted,), (found,) = (list(evaluate_outputs(one, x).values()) for one in (graph, made))
    assert np.array_equal(wanted, found)
