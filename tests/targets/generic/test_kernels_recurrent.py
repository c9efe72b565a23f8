"""The C kernels of recurrent cells compute what their operators mean."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import check_kernels, check_tiled
from tests.support.recurrent import KINDS, cells, every_function, quantised, quantised_gru
from tilewright.ops._cells import Cells


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_kernels_equal_numpy(kind: type[Cells]) -> None:
    random = np.random.default_rng(21)
    check_kernels([cells(kind, random) for _ in range(40)])


def test_every_function_of_gates() -> None:
    check_kernels(every_function())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_sequences_may_be_taken_apart(kind: type[Cells]) -> None:
    random = np.random.default_rng(22)
    for _ in range(20):
        check_tiled(*cells(kind, random), {"b": 1})


@pytest.mark.in_turns(3)
def test_quantised_cells_to_the_bit() -> None:
    random = np.random.default_rng(23)
    check_kernels([make(random) for _ in range(40) for make in (quantised, quantised_gru)])


def test_quantised_sequences_may_be_taken_apart() -> None:
    random = np.random.default_rng(24)
    for _ in range(10):
        check_tiled(*quantised(random), {"b": 1})
        check_tiled(*quantised_gru(random), {"b": 1})
