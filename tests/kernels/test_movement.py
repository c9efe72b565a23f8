"""The C kernels that move elements do what their operators mean."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks import check_kernels
from tests.movement import MAKERS, values
from tilewright.ops.transpose import Transpose

COPIES = ("Transpose", "Slice", "Expand", "Concat", "Pad", "Trilu")
INDEXED = ("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "OneHot", "CumSum", "Resize")


@pytest.mark.parametrize("kinds", [COPIES, INDEXED], ids=["copies", "indexed"])
def test_kernels_equal_numpy(kinds: tuple[str, ...]) -> None:
    random = np.random.default_rng(7)
    check_kernels([MAKERS[kind](random) for kind in kinds for _ in range(20)])


def test_large_transpositions() -> None:
    """Larger than the blocks in which the kernel walks."""
    random = np.random.default_rng(8)
    shapes: list[tuple[int, ...]] = [(37, 50), (3, 18, 33), (2, 17, 5, 19)]
    check_kernels([(Transpose(tuple(reversed(range(len(s))))), [values(random, s, "int16")]) for s in shapes])
