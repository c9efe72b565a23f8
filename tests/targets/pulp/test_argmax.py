"""Where in a row the largest element is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tilewright.ops.argmax import ArgMax
from tilewright.run.kernel_bench import Case, check

KERNEL = next(kernel for kernel in KERNELS if kernel.op is ArgMax)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("cores", [1, 8])
def test_the_first_of_the_largest(cores: int) -> None:
    random, rows = np.random.default_rng(2), []
    for dtype in ("int8", "uint8", "int16", "int32"):
        for length in (1, 5, 8, 100, 257):
            rows.append(random.integers(0, 5, (1, length)).astype(dtype))
            rows.append(np.full((1, length), np.iinfo(dtype).min, dtype))
    check([Case(KERNEL, ArgMax(1), [row]) for row in rows], SIRACUSA, cores)


def test_what_is_left_to_others() -> None:
    several, one = np.zeros((2, 4), np.int8), np.zeros((1, 4), np.int8)
    assert KERNEL.unsupported_reason(ArgMax(1), Case(KERNEL, ArgMax(1), [several]).types) is not None
    last = ArgMax(1, select_last_index=True)
    assert KERNEL.unsupported_reason(last, Case(KERNEL, last, [one]).types) is not None
