"""Images are quantised, moved channels last and padded by one kernel."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import Case, check_kernels
from tests.support.movement import values
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.ops.pad import Pad
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.transpose import Transpose
from tilewright.targets.gpu.quantised_pixels import QUANTISE_PIXELS, QuantisedPixels, none_apart

LAST = (0, 2, 3, 1)


def image(*shape: int) -> np.ndarray:
    """With ties, and what no integer is."""
    x = (np.random.default_rng(sum(shape)).integers(-900, 900, shape) / 8).astype(np.float32)
    x.reshape(-1)[::5] = np.resize(np.array([np.nan, np.inf, -np.inf, 3e38], np.float32), x.reshape(-1)[::5].size)
    return x


def camera(
    *, channels: int = 3, scales: int = 1, perm: tuple[int, ...] = LAST, pads: tuple[int, ...] = (0,) * 7 + (1,),
    is_seen: str = "", dtype: str = "int8",
) -> Graph:  # fmt: skip
    builder = Builder("camera")
    x = builder.input("x", TensorType("float32", (2, channels, 5, 7)))
    scale = builder.constant(np.full(scales, 0.25, np.float32), "scale")
    zero = builder.constant(np.full(scales, 5, dtype), "zero")
    (levels,) = builder.add(QuantizeLinear(1 if scales > 1 else 0), [x, scale, zero])
    (moved,) = builder.add(Transpose(perm), [levels])
    (y,) = builder.add(Pad(pads, 5), [moved]) if pads else (moved,)
    builder.output(y, "y")
    if is_seen:
        builder.output({"levels": levels, "moved": moved}[is_seen], "z")
    return builder.build()


@pytest.mark.fast
@pytest.mark.parametrize(
    "how", [{}, {"dtype": "uint8"}, {"pads": ()}, {"channels": 6, "pads": (0,) * 7 + (2,)}, {"is_seen": "moved"}]
)
def test_joined(how: dict[str, object]) -> None:
    """Where something else reads what is moved, that is made at once, and padded as before."""
    graph = camera(**how)  # type: ignore[arg-type]
    made = QUANTISE_PIXELS.run(graph)
    kinds = [node.op.kind for node in made.nodes]
    assert kinds == ["QuantisedPixels", *["Pad"] * ("is_seen" in how)]
    assert not list(none_apart(made))
    feeds = {"x": image(*graph.types["x"].shape)}
    found, wanted = evaluate(made, feeds), evaluate(graph, feeds)
    for name in graph.outputs:
        np.testing.assert_array_equal(found[name], wanted[name])


@pytest.mark.fast
@pytest.mark.parametrize(
    "how",
    [{"scales": 3}, {"perm": (0, 3, 1, 2)}, {"channels": 9}, {"is_seen": "levels"}, {"dtype": "int16"}],
)  # fmt: skip
def test_others_stay(how: dict[str, object]) -> None:
    graph = camera(**how)  # type: ignore[arg-type]
    assert QUANTISE_PIXELS.run(graph) is graph


@pytest.mark.fast
def test_rows_that_are_padded_too() -> None:
    """Are padded by themselves."""
    made = QUANTISE_PIXELS.run(camera(pads=(0, 1, 0, 0, 0, 0, 0, 1)))
    assert [node.op.kind for node in made.nodes] == ["QuantisedPixels", "Pad"]


@pytest.mark.in_turns(5)
def test_kernels() -> None:
    """Channels that fill a word, and others; images of one to three axes; a mean over few and many elements, of one
    result and of many, which lie side by side or apart."""
    draws, cases = np.random.default_rng(3), list[Case]()
    for shape, more, dtype in (
        ((2, 3, 5, 7), 1, "int8"), ((1, 4, 9), 0, "uint8"), ((3, 1, 4, 3), 3, "uint8"), ((2, 3, 2, 3, 9), 0, "int8"),
        ((1, 5, 13, 11), 3, "int8"), ((1, 2, 70), 2, "int8"), ((1, 2, 1, 1), 0, "uint8"),
    ):  # fmt: skip
        scale, zero = np.array(0.25, np.float32), np.array(draws.integers(0, 127), dtype)
        cases.append((QuantisedPixels(more, int(zero)), [image(*shape), scale, zero]))
    for size, axes, dtype in (
        ((2, 7, 7, 70), (1, 2), "int8"), ((2, 70, 7, 7), (2, 3), "uint8"), ((3, 40, 30), (1, 2), "int8"),
        ((1, 33, 40, 5), (1, 2), "int8"), ((1, 1100, 9), (1,), "int8"), ((13,), (0,), "int8"),
        ((2, 5, 3), (0, 2), "int8"),
    ):  # fmt: skip
        op = QLinearReduceMean(axes, True, 2, 2**24, full_range(24, dtype, 2, "half_even"))
        cases.append((op, [values(draws, size, dtype)]))
    check_kernels(cases, target="gpu")
