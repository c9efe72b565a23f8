"""Fused attention in C is what it means: of all keys, of those up to a query's own, and of a cache."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.attention_cases import MAKERS
from tests.support.checks import check_kernels


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("kind", MAKERS)
def test_attention(kind: str) -> None:
    random = np.random.default_rng(3)
    check_kernels([MAKERS[kind](random) for _ in range(40)])
