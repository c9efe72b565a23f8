"""Convolutions and products to measure this target's kernels with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops._packing import pack_rows
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.targets.microcontroller.blocked import ORDER, BlockedConv
from tilewright.targets.microcontroller.blocked_product import BlockedMatMul

Sample = tuple[Op, list[Array | None]]
REQUANTS = (
    full_range(37, "int8", -3, Rounding.HALF_EVEN), full_range(0, "int8", -3, Rounding.DOUBLE),
    full_range(16, "int8"), None,
)  # fmt: skip
IMAGES = (
    # height, width, channels, filters, kernel, stride
    (8, 8, 16, 16, 3, 1), (8, 8, 3, 8, 3, 1), (12, 12, 3, 16, 3, 2), (6, 6, 32, 32, 3, 1), (5, 9, 8, 12, 3, 1),
    (8, 8, 16, 24, 1, 1), (6, 6, 64, 32, 1, 1), (3, 3, 64, 64, 1, 1), (25, 5, 16, 16, 1, 1), (16, 16, 8, 8, 1, 1),
    (5, 3, 24, 20, 1, 1), (12, 10, 1, 16, 5, 2), (8, 8, 16, 32, 1, 2), (8, 8, 32, 16, 3, 2), (4, 4, 64, 16, 3, 1),
    (10, 10, 4, 6, 3, 1), (4, 30, 1, 8, 3, 2),
)  # fmt: skip
DEEP = (
    # height, width, channels, kernel, stride
    (12, 12, 8, 3, 1), (12, 12, 8, 3, 2), (25, 5, 16, 3, 1), (6, 6, 32, 3, 1), (6, 6, 32, 3, 2), (3, 3, 64, 3, 1),
    (24, 24, 4, 3, 1), (48, 48, 2, 3, 1), (48, 48, 2, 3, 2), (8, 8, 8, 5, 1), (7, 9, 8, 2, 1), (10, 10, 8, 5, 2),
)  # fmt: skip
PRODUCTS = ((1, 64, 12), (1, 128, 128), (1, 640, 64), (4, 64, 32), (16, 48, 48), (7, 32, 20), (32, 16, 16), (1, 8, 128))

BATCHES = (
    (1, 8, 32, 8),
    (4, 16, 16, 16),
    (2, 7, 24, 30),
    (8, 1, 32, 20),
    (1, 32, 8, 40),
    (3, 5, 64, 3),
    (1, 16, 128, 48),
)
"""Matrices, rows, length of the sum, columns."""


def _values(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-50, 50, shape).astype(np.int8)


def _rest(requant: Requant | None, filters: int) -> list[Array | None]:
    """Factors, and what is added or the exponents."""
    if requant is None:
        return []
    if requant.has_exponents:
        return [np.full(filters, (1 << 30) + 12345, np.int32), np.full(filters, -7, np.int32)]
    if requant.shift > 32:
        return [np.full(filters, (1171 << 19) + 1, np.int32)]
    return [np.full(filters, 1171, np.int32), np.full(filters, 1000, np.int32)]


def conv_samples() -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in IMAGES:
        for requant in REQUANTS:
            conv = Conv((stride, stride), padding=(kernel // 2,) * 4, requant=requant)
            weights = pack_rows(ORDER, _values(filters, channels * kernel * kernel))
            starts: list[Array | None] = [np.full(filters, 321, np.int32)]
            op = BlockedConv(filters, (kernel, kernel), conv)
            yield op, [_values(1, channels, height, width), weights, *starts, *_rest(requant, filters)]


def depthwise_samples() -> Iterator[Sample]:
    for height, width, channels, kernel, stride in DEEP:
        for requant in REQUANTS:
            op = Conv((stride, stride), padding=(kernel // 2,) * 4, groups=channels, requant=requant)
            arrays: list[Array | None] = [_values(1, channels, height, width), _values(channels, 1, kernel, kernel)]
            yield op, [*arrays, np.full(channels, 321, np.int32), *_rest(requant, channels)]


def panels_samples() -> Iterator[Sample]:
    for batch, rows, inner, columns in BATCHES:
        for requant, transposed in itertools.product(REQUANTS, (False, True)):
            b = (batch, columns, inner) if transposed else (batch, inner, columns)
            rest = _rest(requant, columns)
            yield MatMul(trans_b=transposed, requant=requant), [_values(batch, rows, inner), _values(*b), None, *rest]


def matmul_samples() -> Iterator[Sample]:
    for rows, inner, columns in PRODUCTS:
        for requant in REQUANTS:
            weights, starts = pack_rows(ORDER, _values(columns, inner)), np.full(columns, 321, np.int32)
            yield BlockedMatMul(requant), [_values(rows, inner), weights, starts, *_rest(requant, columns)]


def product_samples() -> Iterator[Sample]:
    """Of two quantised tensors: by the upper word of a product and by all of it, rows with one element or a row."""
    for requant, mul in ((full_range(40, "int8", -3, Rounding.HALF_EVEN), (1 << 29) + 12345), (REQUANTS[2], 773)):
        for rows, length in ((8, 36), (40, 9), (16, 144), (3, 500)):
            a = _values(rows, length)
            for b in (_values(rows, 1), _values(rows, length), _values(length)):
                yield QLinearMul(3, -2, mul, requant), [a, b]
