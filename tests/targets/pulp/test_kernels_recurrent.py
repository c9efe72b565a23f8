"""The cluster's kernels of recurrent cells, against their operators' numpy meaning."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.recurrent import cells, every_function, quantised, quantised_gru
from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, share
from tilewright.ops._cells import Cells
from tilewright.run.kernel_bench import Case, check
from tilewright.target.kernel import Kernel
from tilewright.targets.pulp import recurrent

TOLERANCE = 1e-5


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
@pytest.mark.parametrize("kernel", recurrent.KERNELS[:3], ids=lambda kernel: kernel.stem)
def test_cells(kernel: Kernel, cores: int) -> None:
    random = np.random.default_rng(31)
    kind = kernel.op
    assert issubclass(kind, Cells)
    check(share([Case(kernel, *cells(kind, random)) for _ in range(30)], cores), SIRACUSA, cores, TOLERANCE)


def test_every_function_of_gates() -> None:
    kernel = next(kernel for kernel in recurrent.KERNELS if kernel.stem == "rnn_cells_shared")
    check([Case(kernel, op, arrays) for op, arrays in every_function()], SIRACUSA, 8, TOLERANCE)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("cores", CORES)
def test_quantised_cells_to_the_bit(cores: int) -> None:
    random, (lstm, gru) = np.random.default_rng(33), recurrent.KERNELS[3:]
    check(share([Case(lstm, *quantised(random)) for _ in range(30)], cores), SIRACUSA, cores)
    check(share([Case(gru, *quantised_gru(random)) for _ in range(30)], cores), SIRACUSA, cores)
