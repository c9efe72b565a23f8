"""Gradients of filters for vectors are those of their definition."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder
from tilewright.ir.types import TensorType
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.targets.cpu.weight_gradients import COMPOSE_WEIGHT_GRADIENTS, all_composed

pytestmark = pytest.mark.fast
RANDOM = np.random.default_rng(2)


@pytest.mark.parametrize(
    ("op", "x", "gradient"),
    [
        (ConvWeightGrad(padding=(1, 1, 1, 1), kernel=(3, 3)), (2, 4, 6, 5), (2, 3, 6, 5)),
        (ConvWeightGrad(padding=(1, 0, 2, 1), kernel=(3, 2), groups=2), (1, 4, 6, 5), (1, 6, 7, 5)),
        (ConvWeightGrad(padding=(2, 2, 2, 2), dilations=(2, 2), kernel=(3, 3), groups=4), (2, 4, 6, 5), (2, 4, 6, 5)),
        (ConvWeightGrad(groups=2), (3, 4, 6, 5), (3, 6, 6, 5)),
        (ConvWeightGrad((1,), (1,), (1, 1), kernel=(3,)), (2, 4, 9), (2, 3, 9)),
    ],
)
def test_composed_gradients(op: ConvWeightGrad, x: tuple[int, ...], gradient: tuple[int, ...]) -> None:
    builder = Builder("gradient")
    for name, shape in (("x", x), ("g", gradient)):
        builder.input(name, TensorType("float32", shape))
    (made,) = builder.add(op, ["x", "g"])
    builder.output(made, "y")
    graph = builder.build()
    composed = COMPOSE_WEIGHT_GRADIENTS.run(graph)
    assert not any(isinstance(node.op, ConvWeightGrad) for node in composed.nodes)
    assert not list(all_composed(composed))
    given = {name: RANDOM.normal(size=shape).astype(np.float32) for name, shape in (("x", x), ("g", gradient))}
    found, wanted = evaluate(composed, given)[composed.outputs[0]], evaluate(graph, given)[made]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_windows_that_skip_pixels_stay() -> None:
    builder = Builder("gradient")
    builder.input("x", TensorType("float32", (1, 2, 6, 6)))
    builder.input("g", TensorType("float32", (1, 3, 2, 2)))
    (made,) = builder.add(ConvWeightGrad((2, 2), kernel=(3, 3)), ["x", "g"])
    builder.output(made, "y")
    graph = builder.build()
    assert [node.op for node in COMPOSE_WEIGHT_GRADIENTS.run(graph).nodes] == [node.op for node in graph.nodes]
