"""Kernels of Cortex-M cores: layers of bytes in every rounding, equal to numpy to the bit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from numpy.random import default_rng

from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tests.targets.rv32.test_kernels import KINDS, conv, product
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


def test_depthwise_convolutions() -> None:
    random = default_rng(7)
    used = run([conv(random, kind, depthwise=True) for kind in KINDS * 6])
    assert used == {"depthwise_windows", "depthwise_rows"}
