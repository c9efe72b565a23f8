"""Convolutions whose windows lie side by side read the taps of a row as channels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import check_graph
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.targets.gpu import folded_taps
from tilewright.targets.gpu.folded_taps import FOLD_TAPS

pytestmark = pytest.mark.fast


def patches(strides: tuple[int, int] = (2, 3), padding: tuple[int, ...] = (1, 0, 0, 0), columns: int = 12) -> Graph:
    """A convolution with windows of two rows and three columns behind an image, channels last."""
    builder, draws = Builder("patches"), np.random.default_rng(7)
    x = builder.input("x", TensorType("float32", (2, 5, columns, 3)))
    weights = builder.constant(draws.integers(-9, 9, (5, 2, 3, 3)).astype(np.float32), "w")
    (y,) = builder(Conv(strides, (1, 1), padding, channels_last=True), [x, weights])
    builder.output(y, "y")
    return builder.build()


def image(graph: Graph) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(1).integers(-50, 50, graph.types["x"].shape).astype(np.float32)}


def test_taps_become_channels() -> None:
    graph = patches()
    made = FOLD_TAPS.run(graph)
    (conv,) = [node for node in made.nodes if isinstance(node.op, Conv)]
    assert [made.types[name].shape for name in conv.inputs] == [(2, 5, 4, 9), (5, 2, 1, 9)]
    feeds = image(graph)
    found, wanted = evaluate(made, feeds)[made.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]]
    np.testing.assert_array_equal(found, wanted)
    assert not list(folded_taps.none_tiled(made))


@pytest.mark.parametrize("other", [{"strides": (3, 2)}, {"padding": (0, 1, 0, 2)}, {"columns": 13}])
def test_windows_that_overlap_or_leave_columns_stay(other: dict[str, object]) -> None:
    graph = patches(**other)  # type: ignore[arg-type]
    assert FOLD_TAPS.run(graph) is graph


@pytest.mark.in_turns(5)
def test_patches_on_the_gpu() -> None:
    check_graph(patches(), image(patches()), is_quick=True, target="gpu")
