"""Images of three channels get a fourth, so that more is copied at once."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.cast import Cast
from tilewright.ops.conv import Conv
from tilewright.ops.pad import Pad
from tilewright.targets.gpu import padded_channels
from tilewright.targets.gpu.padded_channels import PAD_CHANNELS

pytestmark = pytest.mark.fast


def camera(dtype: str, channels: int, x_zero: int = 0) -> Graph:
    """A strided convolution behind an image, channels last."""
    builder, draws = Builder("camera"), np.random.default_rng(channels)
    integer = dtype == "int8"
    x = builder.input("x", TensorType("int8" if integer else "float32", (1, 9, 8, channels)))
    levels = draws.integers(-9, 9, (5, 3, 3, channels)).astype(np.int8)
    weights = builder.constant(levels if integer else levels.astype(np.float32) / 8, "w")
    if not integer:
        (x,), (weights,) = builder(Cast(dtype), [x]), builder(Cast(dtype), [weights])
        weights = builder.constant((levels / 8).astype(builder.types[weights].element), "short")
    conv = Conv((2, 2), (1, 1), (1, 1, 1, 1), x_zero=x_zero, channels_last=True)
    (y,) = builder(conv, [x, weights])
    builder.output(y, "y")
    return builder.build()


@pytest.mark.parametrize(
    ("dtype", "channels", "added"),
    [("int8", 3, 1), ("int8", 6, 2), ("int8", 8, 0), ("float16", 3, 1), ("bfloat16", 5, 3), ("float16", 6, 0),
     ("float32", 3, 1), ("float32", 9, 0)],
)  # fmt: skip
def test_channels_fill_words(dtype: str, channels: int, added: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(padded_channels, "FEWEST_MACS", 0)
    graph = camera(dtype, channels, x_zero=3 if dtype == "int8" else 0)
    made = PAD_CHANNELS.run(graph)
    pads = [node.op.pads[-1] for node in made.nodes if isinstance(node.op, Pad)]
    assert pads == ([added] if added else [])
    image = np.random.default_rng(1).integers(-50, 50, (1, 9, 8, channels))
    feeds = {"x": image.astype(np.int8 if dtype == "int8" else np.float32)}
    found, wanted = evaluate(made, feeds)[made.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]]
    np.testing.assert_array_equal(found, wanted)
    assert not list(padded_channels.none_ragged(made))


def test_small_layers_stay() -> None:
    graph = camera("int8", 3)
    assert PAD_CHANNELS.run(graph) is graph
