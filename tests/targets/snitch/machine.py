"""The target, its kernels, and numbers to try them with."""

from __future__ import annotations

import numpy as np

from tilewright import targets
from tilewright.ir.types import Array
from tilewright.target.kernel import Kernel

SNITCH = targets.find("snitch")
RNG = np.random.default_rng(17)


def kernel(source: str) -> Kernel:
    return next(one for one in SNITCH.engines[0].kernels if one.source == source)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def integers(dtype: str, *shape: int) -> Array:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)
