"""What a layer whose tiles cores take in turn waits for: the core that has most."""

from __future__ import annotations

import pytest

from tilewright import targets
from tilewright.ir.types import TensorType
from tilewright.ops.neg import Neg
from tilewright.target.cost_model import Work, busiest_core_cycles, call_cycles, work
from tilewright.tiling.tiles import Cut, TileGrid

pytestmark = pytest.mark.fast

QUAD = targets.find("quad")
TYPES = {"X": TensorType("int8", (25, 8)), "Y": TensorType("int8", (25, 8))}
KERNEL = next(kernel for kernel in QUAD.engines[0].kernels if kernel.op is Neg)


@pytest.mark.parametrize("size", [1, 4, 5, 6, 7, 8, 12, 13, 24, 25])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_the_busiest_core_is_found(size: int, workers: int) -> None:
    grid = TileGrid.of(Neg(), TYPES, ("Y",)).in_tiles((Cut("d0", 25, size),))
    cores = [0.0] * workers
    for number in range(grid.tiles):
        rows = min(size, 25 - number * size)
        cores[number % workers] += _cycles(work(grid, {"d0": rows}))
    assert busiest_core_cycles(QUAD.costs, KERNEL, grid, workers) == pytest.approx(max(cores))


def _cycles(asked: Work) -> float:
    return call_cycles(QUAD.costs, KERNEL, Neg(), TYPES, asked, 1).cores
