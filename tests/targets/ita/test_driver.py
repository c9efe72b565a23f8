"""The driver of ITA: an attention head that lies in the TCDM, and a product that is brought there tile by tile."""

from __future__ import annotations

import pytest

from tests.targets.ita.driver_programs import MACHINES, run_gemm, run_head


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_head(machine: str) -> None:
    """4 jobs each for Q, K and V, two times 2 for scores and 2 for mixed values, 4 for the output."""
    measured = run_head(128, 128, 64, machine)
    assert measured.jobs == 24
    assert measured.utilisation > 0.75


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("rows", "inner", "columns"), [(2, 1, 1), (4, 3, 2), (2, 8, 3)])
def test_a_product_tile_by_tile(rows: int, inner: int, columns: int, machine: str) -> None:
    """ITA works most of the time that it has tiles for."""
    measured = run_gemm(rows, inner, columns, machine)
    assert measured.jobs * 256 / measured.busy > 0.75
