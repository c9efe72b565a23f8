"""The C kernels of classifiers do what their operators mean."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import check_kernels
from tests.support.classifiers import MAKERS


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("kind", MAKERS)
def test_kernels_equal_numpy(kind: str) -> None:
    random = np.random.default_rng(7)
    check_kernels([MAKERS[kind](random) for _ in range(40)])
