"""The C kernels that move elements do what their operators mean."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import check_kernels
from tests.support.movement import MAKERS, values
from tilewright.ops.gather import Gather
from tilewright.ops.gatherelements import GatherElements
from tilewright.ops.gathernd import GatherND
from tilewright.ops.pad import Pad
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.transpose import Transpose

COPIES = ("Transpose", "Slice", "Expand", "Concat", "Pad", "Trilu")
INDEXED = (
    "Gather",
    "GatherElements",
    "GatherND",
    "ScatterElements",
    "ScatterND",
    "OneHot",
    "CumSum",
    "CumProd",
    "Resize",
)


OTHERS = ("TopK", "GridSample", "FFT", "MatMulNBits", "Cast of stored floats")


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("kinds", [COPIES, INDEXED, OTHERS], ids=["copies", "indexed", "others"])
def test_kernels_equal_numpy(kinds: tuple[str, ...]) -> None:
    random = np.random.default_rng(7)
    check_kernels([MAKERS[kind](random) for kind in kinds for _ in range(20)])


def test_indices_outside_are_taken_as_the_nearest_inside() -> None:
    """ONNX forbids them; what matters is that nothing outside the tensor is touched."""
    x, outside = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([-100, -4, 0, 3, 7, 2**31 - 1])
    assert Gather().numpy(x, outside)[:, 0].tolist() == [0, 0, 0, 8, 8, 8]
    pairs = np.stack([outside, outside[::-1]], axis=1)
    check_kernels(
        [
            *((Gather(axis), [x, outside.astype(kind)]) for axis in (0, 1) for kind in ("int32", "int64")),
            *((GatherElements(axis), [x, outside.reshape(2, 3)]) for axis in (0, 1)),
            (GatherND(0), [x, pairs]),
            (ScatterElements("none", 1), [x, outside[:1].reshape(1, 1), x[:1, :1] + 99]),
            (ScatterND("add"), [x, pairs, np.ones(6, np.float32)]),
        ]
    )


def test_large_transpositions() -> None:
    """Larger than the blocks in which the kernel walks."""
    random = np.random.default_rng(8)
    shapes: list[tuple[int, ...]] = [(37, 50), (3, 18, 33), (2, 17, 5, 19)]
    check_kernels([(Transpose(tuple(reversed(range(len(s))))), [values(random, s, "int16")]) for s in shapes])


def test_borders_of_every_type() -> None:
    random = np.random.default_rng(9)
    types = ("float32", "int8", "uint8", "int32", "int64", "bool")
    check_kernels([(Pad((2, 1), 1), [values(random, (3,), dtype)]) for dtype in types])
