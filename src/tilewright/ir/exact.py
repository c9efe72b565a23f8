"""Matrix products: of integers through floating-point BLAS where that is exact (it is far faster in numpy)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from tilewright.ir.types import Array

_in_double: ContextVar[bool] = ContextVar("in_double", default=False)


@contextmanager
def sums_in_double() -> Iterator[None]:
    """Products of floats are summed in double and rounded once: what float32 programs are measured against."""
    token = _in_double.set(True)
    try:
        yield
    finally:
        _in_double.reset(token)


def exact_matmul(left: Array, right: Array) -> Array:
    """left @ right in the operands' own type; integers wrap around."""
    if left.dtype == np.float32 and _in_double.get():
        return np.asarray(np.matmul(left.astype(np.float64), right.astype(np.float64)), np.float32)
    if left.dtype.kind == "f" or left.size == 0 or right.size == 0:
        return np.asarray(np.matmul(left, right))
    bound = _largest(left) * _largest(right) * left.shape[-1]
    if bound < 2.0**53:
        return (
            np.asarray(np.matmul(left.astype(np.float64), right.astype(np.float64))).astype(np.int64).astype(left.dtype)
        )
    return np.asarray(np.matmul(left, right))


def _largest(values: Array) -> float:
    return max(abs(float(values.min())), abs(float(values.max())))
