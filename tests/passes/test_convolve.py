"""Transposed convolutions are convolutions of all phases of their stride."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.checks import same
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, type_of
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.passes import apply
from tilewright.passes.convolve import CONVOLVE, CONVOLVE_REQUANTISED

pytestmark = pytest.mark.fast

RANDOM = np.random.default_rng(5)


def one(op: ConvTranspose, x: Array, *constants: Array) -> Graph:
    builder = Builder("one")
    names = [builder.input("x", type_of(x)), *(builder.constant(array) for array in constants)]
    builder.output(builder.add(op, names)[0])
    return builder.build()


def kinds(graph: Graph) -> set[str]:
    return {node.op.kind for node in graph.nodes}


GEOMETRIES = [
    # ins, kernel, stride, before, outs
    ((4, 5), (2, 2), (2, 2), (0, 0), (8, 10)),
    ((4, 5), (4, 4), (2, 2), (1, 1), (8, 10)),
    ((4, 4), (3, 3), (2, 2), (1, 1), (8, 8)),
    ((3, 3), (3, 2), (1, 1), (1, 0), (3, 4)),
    ((3, 3), (2, 5), (3, 2), (0, 3), (10, 4)),
    ((2, 2), (1, 1), (2, 3), (0, 0), (4, 6)),
    ((6,), (5,), (2,), (4,), (7,)),
]


@pytest.mark.parametrize(("ins", "kernel", "strides", "before", "spatial"), GEOMETRIES)
def test_floats(ins: Any, kernel: Any, strides: Any, before: Any, spatial: Any) -> None:
    x, w = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((2, 3, *ins), (3, 4, *kernel)))
    op = ConvTranspose(strides=strides, dilations=(1,) * len(ins), before=before, spatial=spatial)
    graph = one(op, x, w, RANDOM.standard_normal(4).astype(np.float32))
    made = apply(graph, (CONVOLVE,))
    assert "Conv" in kinds(made)
    assert "ConvTranspose" not in kinds(made)
    same(evaluate(made, {"x": x})[made.outputs[0]], evaluate(graph, {"x": x})[graph.outputs[0]], 1e-6)


@pytest.mark.parametrize(("ins", "kernel", "strides", "before", "spatial"), GEOMETRIES)
def test_requantised_bytes_are_equal(ins: Any, kernel: Any, strides: Any, before: Any, spatial: Any) -> None:
    x, w = (RANDOM.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 3, *ins), (3, 4, *kernel)))
    bias, mul, add = (RANDOM.integers(1, 900, 4).astype(np.int32) for _ in range(3))
    requant = full_range(16, "int8", 3, "half_even")
    op = ConvTranspose(1, -7, 2, requant, strides=strides, dilations=(1,) * len(ins), before=before, spatial=spatial)
    graph = one(op, x, w, bias, mul, add)
    made = apply(graph, (CONVOLVE_REQUANTISED,))
    assert "ConvTranspose" not in kinds(made)
    np.testing.assert_array_equal(
        evaluate(made, {"x": x})[made.outputs[0]], evaluate(graph, {"x": x})[graph.outputs[0]]
    )


@pytest.mark.parametrize(("groups", "dilation"), [(2, 1), (1, 2)])
def test_others_stay(groups: int, dilation: int) -> None:
    x, w = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((1, 4, 3), (4, 2, 3)))
    op = ConvTranspose(groups, strides=(2,), dilations=(dilation,), before=(0,), spatial=(9,))
    assert kinds(apply(one(op, x, w), (CONVOLVE,))) == {"ConvTranspose"}


def test_totals_that_nothing_requantises_wait() -> None:
    x, w = (RANDOM.integers(-9, 9, shape).astype(np.int8) for shape in ((1, 2, 3), (2, 2, 2)))
    graph = one(ConvTranspose(strides=(2,), dilations=(1,), before=(0,), spatial=(6,)), x, w)
    assert kinds(apply(graph, (CONVOLVE_REQUANTISED,))) == {"ConvTranspose"}
    assert "Conv" in kinds(apply(graph, (CONVOLVE,)))
