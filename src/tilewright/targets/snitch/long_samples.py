"""Products and convolutions of bytes to measure whose sums are taken in several groups; samples for all targets have
few of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul

TO_BYTES = Requant(38, "int8", -128, 127, 0, Rounding.HALF_EVEN)
PRODUCTS = ((16, 144, 16), (8, 300, 40), (32, 192, 32), (4, 512, 24), (1, 640, 32))
"""Rows, length of the sum and columns."""
CONVOLUTIONS = (
    (12, 16, 16, 3),
    (8, 32, 16, 3),
    (8, 32, 32, 3),
    (4, 64, 24, 3),
    (10, 6, 32, 5),
    (8, 160, 24, 1),
    (6, 280, 16, 1),
)
"""Rows and columns of the image, channels, filters, and rows and columns of these."""
FIRST_FACTORS = ("int8", "uint8")
"""Their types: a group has 255 or 128 products."""

Sample = tuple[Op, Sequence[Array | None]]


def product_samples() -> Iterator[Sample]:
    for rows, inner, columns in PRODUCTS:
        for dtype in FIRST_FACTORS:
            operands = [_bytes(dtype, rows, inner), _bytes("int8", inner, columns), None, *_scales(columns)]
            yield MatMul(requant=TO_BYTES), operands


def conv_samples() -> Iterator[Sample]:
    for size, channels, filters, taps in CONVOLUTIONS:
        for dtype in FIRST_FACTORS:
            x, w = _bytes(dtype, 1, channels, size, size), _bytes("int8", filters, channels, taps, taps)
            yield Conv(padding=(taps // 2,) * 4, requant=TO_BYTES), [x, w, None, *_scales(filters)]


def _bytes(dtype: str, *shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(0, 97, shape).astype(dtype)


def _scales(columns: int) -> list[Array]:
    """Factors and summands."""
    return [np.full(columns, 1 << 24, np.int32), np.zeros(columns, np.int32)]
