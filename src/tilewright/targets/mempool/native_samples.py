"""Products and convolutions to measure whose requantisation is that of 32 bits, as networks have it here by default;
samples for all targets have others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul

NATIVE = Requant(12, "int8", -128, 127, 0, Rounding.NATIVE)
PRODUCTS = ((1, 64, 64), (16, 16, 16), (64, 64, 32), (33, 40, 20), (16, 128, 64), (48, 9, 30))
"""Rows, length of the sum and columns."""
CONVOLUTIONS = ((8, 16, 16, 3), (10, 3, 16, 3), (8, 32, 32, 1), (16, 8, 8, 3), (12, 4, 8, 5))
"""Rows and columns of the image, channels, filters, and rows and columns of these."""

Sample = tuple[Op, Sequence[Array | None]]


def product_samples() -> Iterator[Sample]:
    for rows, inner, columns in PRODUCTS:
        yield (
            MatMul(trans_b=True, requant=NATIVE),
            [_bytes(rows, inner), _bytes(columns, inner), None, *_scales(columns)],
        )


def conv_samples() -> Iterator[Sample]:
    for size, channels, filters, taps in CONVOLUTIONS:
        conv = Conv(padding=(taps // 2,) * 4, channels_last=True, requant=NATIVE)
        x, w = _bytes(1, size, size, channels), _bytes(filters, taps, taps, channels)
        yield conv, [x, w, None, *_scales(filters)]


def _bytes(*shape: int) -> Array:
    return (np.arange(np.prod(shape)) % 97 - 48).astype(np.int8).reshape(shape)


def _scales(columns: int) -> list[Array]:
    """Factors and summands."""
    return [np.full(columns, 300, np.int32), np.full(columns, 1000, np.int32)]
