"""Kernels of Cortex-M cores: layers of bytes in every rounding, equal to numpy to the bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tests.targets.rv32.test_kernels import KINDS, conv, product, some_bytes
from tilewright.ir.requant import full_range
from tilewright.ops.matmul import MatMul
from tilewright.target.settings import Settings


def run(cases: Sequence[Case], target: str = "cortex-m4") -> set[str]:
    compiled, _ = run_on_board(cases, Settings(), target=target)
    return set(kernels(compiled))


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus"])
def test_convolutions(target: str) -> None:
    random = default_rng(1)
    used = run([conv(random, kind) for kind in KINDS * 5], target)
    assert used == ({"conv_pairs", "conv_pairs_apart"} if target == "cortex-m4" else {"conv_blocked"})


def test_products() -> None:
    random = default_rng(3)
    used = run([product(random, kind) for kind in KINDS * 3])
    assert used == {"matmul_pairs", "matmul_pairs_apart", "conv_pairs", "conv_pairs_apart"}


def by_row(random: Generator, rounding: str) -> Case:
    """Factors that differ from row to row."""
    rows, inner, columns = 7, 20, 6
    a, b = some_bytes(random, "int8", rows, inner), some_bytes(random, "int8", inner, columns)
    mul, add = (random.integers(1, 2000, (rows, 1)).astype(np.int32) for _ in range(2))
    return MatMul(requant=full_range(16, "int8", 3, rounding)), [a, b, None, mul, add]


def test_products_with_factors_of_rows() -> None:
    random = default_rng(4)
    assert run([by_row(random, rounding) for rounding in ("half_up", "half_even")]) == {"matmul_panels"}


def test_depthwise_convolutions() -> None:
    random = default_rng(7)
    used = run([conv(random, kind, depthwise=True) for kind in KINDS * 6])
    assert used == {"depthwise_windows", "depthwise_rows"}
