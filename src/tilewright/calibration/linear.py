"""Samples of sums of products, and of pools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tilewright.calibration.values import (
    MEANS,
    NATIVELY,
    TFLITES,
    TO_BYTES,
    TO_BYTES_IN_64_BITS,
    TO_HALVES,
    Sample,
    exponents,
    factors,
    large_factors,
    summands,
    values,
)
from tilewright.ir.block_formats import FORMATS
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array
from tilewright.ops._packed import row_bytes
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.bestblock import BestBlock
from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import BlockMatMul
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.matmul import MatMul
from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.packedconv import PackedConv
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.ops.qlinearaveragepool import QLinearAveragePool

PRODUCTS = (
    (1, 16, 12), (1, 64, 64), (1, 64, 128), (1, 256, 40), (4, 64, 16), (8, 32, 32), (16, 16, 16), (10, 48, 24),
    (16, 64, 64), (32, 96, 40), (33, 30, 18), (64, 64, 8), (3, 128, 32),
)  # fmt: skip
"""Rows, length of the sum, columns."""
LARGE_PRODUCTS = ((64, 128, 48), (64, 64, 128), (48, 192, 64))
BATCHES = (
    (16, 1, 4, 20), (16, 4, 4, 16), (8, 16, 16, 4), (4, 16, 20, 16), (12, 1, 40, 4), (2, 24, 24, 24),
    (1, 16, 4, 4), (64, 16, 4, 4), (16, 1, 4, 65), (32, 1, 4, 33), (16, 1, 65, 4), (4, 64, 4, 64), (4, 64, 64, 4),
)  # fmt: skip
"""Matrices, rows, length of the sum, columns."""


def products() -> Iterator[Sample]:
    for m, k, n in PRODUCTS:
        for columns_first in (True, False):
            b = (n, k) if columns_first else (k, n)
            op = MatMul(trans_b=columns_first, requant=TO_BYTES)
            yield op, [values("int8", m, k), values("int8", *b), summands(n), factors(1), summands(1)]
            rest = [summands(n), large_factors(1), summands(1)]
            yield replace(op, requant=TO_BYTES_IN_64_BITS), [values("int8", m, k), values("int8", *b), *rest]
            own = [summands(n), large_factors(n), None]
            yield replace(op, requant=TO_BYTES_IN_64_BITS), [values("int8", m, k), values("int8", *b), *own]
            yield replace(op, requant=TO_HALVES), [values("int8", m, k), values("int8", *b), *own]
            yield replace(op, requant=None), [values("int8", m, k), values("int8", *b)]
            yield MatMul(trans_b=columns_first), [values("float32", m, k), values("float32", *b)]
            yield MatMul(trans_b=columns_first), [values("int32", m, k), values("int32", *b)]


VOCABULARIES = (
    # words, length, block
    (512, 64, 64), (1024, 64, 128), (256, 128, 32), (600, 32, 64), (64, 512, 8), (100, 96, 20), (96, 20, 12),
)  # fmt: skip


def argmax_matmul() -> Iterator[Sample]:
    for words, length, block in VOCABULARIES:
        a, b = values("int8", 1, length), values("int8", words, length)
        for bias in (summands(words), None):
            yield ArgMaxMatMul(block, TO_HALVES), [a, b, bias, large_factors(words)]
        yield ArgMaxMatMul(block, TO_BYTES), [a, b, None, factors(words)]
        if words * length <= 16384:
            yield ArgMaxMatMul(block), [values("float32", 1, length), values("float32", words, length)]


def best_blocks() -> Iterator[Sample]:
    for count in (1, 8, 60, 250, 1000):
        for dtype in ("int16", "float32"):
            yield BestBlock(32), [values(dtype, 1, count), values("int32", 1, count)]


def large_products() -> Iterator[Sample]:
    for m, k, n in LARGE_PRODUCTS:
        op = MatMul(trans_b=True, requant=TO_BYTES)
        yield op, [values("int8", m, k), values("int8", n, k), None, factors(1), summands(1)]


def scattered_products() -> Iterator[Sample]:
    for m, k, n in PRODUCTS:
        op = MatMul(trans_b=True, perm_y=(0, 2, 1))
        yield op, [values("float32", 1, m, k), values("float32", n, k)]
        requantised = replace(op, requant=TO_BYTES)
        yield requantised, [values("int8", 1, m, k), values("int8", n, k), None, factors(1), summands(1)]


def batched_products() -> Iterator[Sample]:
    for batch, m, k, n in BATCHES:
        for columns_first in (True, False):
            b = (n, k) if columns_first else (k, n)
            op = MatMul(trans_b=columns_first, requant=TO_BYTES)
            arrays = [values("int8", batch, m, k), values("int8", batch, *b)]
            yield op, [*arrays, None, factors(1), summands(1)]
            yield MatMul(trans_b=columns_first), [values("float32", batch, m, k), values("float32", batch, *b)]


IMAGES = (
    # height, width, channels, filters, kernel, stride
    (8, 8, 3, 16, 3, 1), (8, 8, 16, 16, 3, 1), (16, 16, 3, 8, 3, 1), (6, 6, 32, 32, 3, 1), (9, 7, 24, 12, 3, 2),
    (8, 8, 64, 16, 1, 1), (16, 12, 16, 32, 1, 1), (4, 4, 64, 64, 1, 1), (12, 12, 16, 24, 1, 2), (10, 4, 64, 64, 1, 1),
    (12, 6, 1, 32, 5, 2), (16, 16, 16, 16, 3, 1), (4, 4, 64, 32, 3, 1), (3, 3, 20, 40, 2, 1), (20, 5, 1, 64, 3, 1),
    (2, 32, 16, 16, 3, 1), (16, 12, 16, 3, 1, 1), (12, 10, 8, 2, 3, 1), (8, 8, 24, 1, 1, 1), (10, 10, 12, 3, 3, 1),
    (8, 32, 16, 16, 3, 1), (24, 24, 3, 16, 3, 2), (8, 8, 32, 64, 3, 1),
)  # fmt: skip
DEEP = ((8, 8, 16, 3, 1), (4, 4, 64, 3, 1), (10, 6, 32, 3, 1), (12, 12, 16, 3, 2), (9, 9, 24, 5, 1), (2, 32, 16, 3, 1))
"""Height, width, channels, kernel, stride."""

ONE_CHANNEL = ((20, 12, 1, 16, 5, 1), (16, 11, 1, 8, 4, 2), (12, 12, 1, 8, 8, 2), (40, 10, 1, 16, 7, 2))
"""As IMAGES, with large windows, as a network's first layer has them."""

PLANES = (
    (25, 5, 16, 3, 1), (11, 7, 8, 3, 1), (13, 9, 6, 3, 2), (6, 21, 8, 3, 1), (3, 3, 48, 3, 1), (6, 6, 40, 3, 2),
    (7, 14, 12, 3, 1), (48, 48, 2, 3, 1), (32, 32, 4, 3, 2),
)  # fmt: skip
"""As DEEP: rows that end within a word, small planes and large ones."""
LARGE_WINDOWS = (
    (12, 12, 16, 5, 2), (7, 7, 32, 7, 1), (16, 16, 8, 5, 1), (6, 10, 12, 7, 2), (24, 24, 8, 5, 1), (5, 5, 16, 5, 1),
    (8, 8, 16, 2, 1), (10, 10, 8, 4, 1), (12, 12, 24, 7, 1), (3, 3, 40, 5, 1), (20, 5, 8, 6, 1), (14, 14, 12, 8, 1),
)  # fmt: skip
"""As DEEP: other windows than those of three rows."""
LAYERS = ((25, 5, 64, 3, 1), (12, 12, 64, 3, 1), (24, 24, 16, 3, 1), (24, 24, 32, 3, 2), (48, 48, 8, 3, 1))
"""As DEEP, as large as a network's layers."""


def convolutions() -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in (*IMAGES, *ONE_CHANNEL):
        pad = kernel // 2
        op = Conv((stride, stride), padding=(pad,) * 4, channels_last=True)
        x, w = (1, height, width, channels), (filters, kernel, kernel, channels)
        rest = [None, factors(filters), summands(filters)]
        yield replace(op, requant=TO_BYTES), [values("int8", *x), values("int8", *w), *rest]
        yield replace(op, requant=TO_BYTES), [values("uint8", *x), values("int8", *w), *rest]
        yield replace(op, requant=NATIVELY), [values("int8", *x), values("int8", *w), *rest]
        for summand in (summands(filters), None):
            wide = [None, large_factors(filters), summand]
            yield replace(op, requant=TO_BYTES_IN_64_BITS), [values("int8", *x), values("int8", *w), *wide]
        scaled = [None, large_factors(filters), exponents(filters)]
        yield replace(op, requant=TFLITES), [values("int8", *x), values("int8", *w), *scaled]
        yield op, [values("int8", *x), values("int8", *w)]
        if height * width * channels * filters <= 20_000:
            yield op, [values("float32", *x), values("float32", *w), values("float32", filters)]


LONG = (
    # length, channels, filters, kernel, stride, dilation
    (400, 1, 1, 41, 3, 1), (600, 1, 1, 41, 1, 1), (800, 1, 8, 25, 5, 1), (480, 1, 32, 80, 4, 1),
    (640, 1, 16, 128, 32, 1), (256, 2, 4, 9, 1, 1), (200, 4, 4, 7, 2, 1), (128, 8, 8, 3, 1, 1), (96, 16, 16, 5, 1, 1),
    (128, 8, 4, 3, 1, 4), (512, 1, 4, 400, 16, 1), (300, 1, 1, 3, 1, 1), (64, 40, 24, 3, 1, 1),
    (970, 1, 40, 100, 97, 1), (300, 1, 16, 60, 30, 1),
)  # fmt: skip
"""One long axis and few channels, as of raw audio: a window is one row, of many taps."""


def long_convolutions() -> Iterator[Sample]:
    for length, channels, filters, kernel, stride, dilation in LONG:
        pad = min(kernel // 2, 20)
        op = Conv((1, stride), dilations=(1, dilation), padding=(0, pad, 0, pad), channels_last=True)
        arrays = [values("float32", 1, 1, length, channels), values("float32", filters, 1, kernel, channels)]
        yield op, [*arrays, values("float32", filters)]


def depthwise_convolutions() -> Iterator[Sample]:
    for height, width, channels, kernel, stride in (*DEEP, *PLANES, *LARGE_WINDOWS, *LAYERS):
        pad = kernel // 2
        op = Conv((stride, stride), padding=(pad,) * 4, channels_last=True, groups=channels)
        x, w = (1, height, width, channels), (channels, kernel, kernel, 1)
        rest = [None, factors(channels), summands(channels)]
        for requant in (TO_BYTES, NATIVELY):
            yield replace(op, requant=requant), [values("int8", *x), values("int8", *w), *rest]
        for summand in (summands(channels), None):
            wide = [None, large_factors(channels), summand]
            yield replace(op, requant=TO_BYTES_IN_64_BITS), [values("int8", *x), values("int8", *w), *wide]
        yield replace(op, requant=TO_HALVES), [values("int8", *x), values("int8", *w), None, large_factors(channels)]
        if height * width * channels <= 2000:
            yield op, [values("float32", *x), values("float32", *w)]
    for height, width, channels, stride in ((24, 24, 8, 1), (16, 40, 4, 1), (24, 24, 8, 2), (20, 16, 16, 1)):
        op = Conv((stride, stride), padding=(1,) * 4, channels_last=True, groups=channels)
        yield op, [values("float32", 1, height, width, channels), values("float32", channels, 3, 3, 1)]


SMALL = ((4, 4, 8, 8, 1, 1), (2, 8, 16, 4, 1, 1), (8, 2, 4, 2, 3, 1), (4, 4, 16, 1, 1, 1), (1, 10, 3, 8, 3, 1))
"""As IMAGES, as small as the parts that a small network's layers are cut into."""


def convolutions_channels_second() -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in (*SMALL, *IMAGES):
        op = Conv((stride, stride), padding=(kernel // 2,) * 4)
        for dtype in ("float32", "int8"):
            yield op, [values(dtype, 1, channels, height, width), values(dtype, filters, channels, kernel, kernel)]
    for height, width, channels, kernel, stride in DEEP:
        op = Conv((stride, stride), padding=(kernel // 2,) * 4, groups=channels)
        for dtype in ("float32", "int8"):
            yield op, [values(dtype, 1, channels, height, width), values(dtype, channels, 1, kernel, kernel)]


def transposed_convolutions() -> Iterator[Sample]:
    for height, width, channels, filters in ((4, 4, 8, 8), (6, 6, 3, 8), (5, 9, 16, 4)):
        op = ConvTranspose(strides=(2, 2), spatial=(2 * height, 2 * width))
        for dtype in ("float32", "int8"):
            yield op, [values(dtype, 1, channels, height, width), values(dtype, channels, filters, 2, 2)]


POOLS = (
    (8, 8, 16, 2, 2), (9, 9, 32, 3, 2), (16, 16, 8, 2, 2), (12, 5, 64, 2, 2), (18, 18, 16, 3, 2), (9, 11, 23, 3, 1),
    (12, 12, 8, 3, 1),
)  # fmt: skip
"""Height, width, channels, kernel, stride."""


def pools() -> Iterator[Sample]:
    for height, width, channels, kernel, stride in POOLS:
        window = {"strides": (stride, stride), "kernel": (kernel, kernel)}
        last, second = (1, height, width, channels), (1, channels, height, width)
        for shape, is_last in ((last, True), (second, False)):
            for dtype in ("float32", "int8"):
                yield MaxPool(**window, channels_last=is_last), [values(dtype, *shape)]
            yield AveragePool(**window, channels_last=is_last), [values("float32", *shape)]  # type: ignore[arg-type]
            mean = QLinearAveragePool(**window, channels_last=is_last, mul=900, requant=MEANS)  # type: ignore[arg-type]
            yield mean, [values("int8", *shape)]


def global_pools() -> Iterator[Sample]:
    for shape in ((1, 16, 8, 8), (1, 64, 4, 4), (1, 8, 16, 12)):
        yield GlobalAveragePool(), [values("float32", *shape)]
        for dtype in ("float32", "int8"):
            yield GlobalMaxPool(), [values(dtype, *shape)]
        rows = [values("float32", shape[1]) for _ in range(4)]
        yield BatchNormalization(), [values("float32", *shape), *rows]
    for count, channels in ((64, 16), (256, 16), (128, 64), (30, 6), (16, 128)):
        rows = [values("float32", channels) for _ in range(2)]
        yield BatchNormalization(axis=2), [values("float32", 1, count, channels), *rows]


def short_weights() -> Iterator[Sample]:
    for rows, inner, columns in ((1, 64, 32), (1, 256, 64), (8, 128, 16), (4, 96, 48)):
        for bits in (4, 8):
            weights = values("uint8", columns, -(-inner // 32), 4 * bits)
            scales = values("float32", *weights.shape[:2])
            yield MatMulNBits(inner, bits, 32), [values("float32", rows, inner), weights, scales]


def weights_in_blocks() -> Iterator[Sample]:
    for rows, inner, columns in ((1, 64, 32), (1, 256, 64), (8, 128, 16), (4, 96, 48)):
        for name in ("Q8_0", "Q4_0"):
            blocks = np.zeros((columns, FORMATS[name].bytes_of(inner)), np.uint8)
            yield BlockMatMul(name), [values("float32", rows, inner), blocks]
            yield BlockGather(name), [blocks, np.arange(rows, dtype=np.int32)]


def packed_weights() -> Iterator[Sample]:
    for rows, inner, columns in ((1, 64, 64), (1, 512, 128), (1, 172, 64), (3, 128, 40), (8, 96, 32), (2, 77, 24)):
        for bits in (2, 4):
            least, codes = -(2 ** (bits - 1)), values("uint8", columns, row_bytes(inner, bits))
            a = values("int8", rows, inner)
            yield PackedMatMul(bits, least), [a, codes]
            yield PackedMatMul(bits, 0, TO_BYTES), [a, codes, None, factors(1), summands(1)]
            yield PackedMatMul(bits, least, TO_BYTES), [a, codes, summands(columns), factors(columns), summands(1)]
            wide = [summands(columns), large_factors(columns)]
            yield PackedMatMul(bits, least, TO_BYTES_IN_64_BITS), [a, codes, *wide]
            yield PackedMatMul(bits, least, TO_HALVES), [a, codes, *wide]
            yield PackedMatMul(bits, least, TO_BYTES_IN_64_BITS), [a, codes, *wide, summands(1)]


def packed_convolutions() -> Iterator[Sample]:
    for height, channels, filters, kernel in ((6, 16, 8, 3), (8, 8, 16, 1), (5, 12, 12, 2)):
        for bits in (2, 4):
            shape = (channels, kernel, kernel)
            codes = values("uint8", filters, row_bytes(channels * kernel**2, bits))
            rest = [None, factors(filters), summands(filters)]
            op = PackedConv(bits, -2, shape, Conv(requant=TO_BYTES))
            yield op, [values("int8", 1, channels, height, height), codes, *rest]


MEDIUM = (
    (24, 24, 8, 16, 1, 1),
    (12, 12, 32, 32, 1, 1),
    (25, 5, 64, 64, 1, 1),
    (16, 16, 16, 16, 3, 1),
    (48, 48, 3, 8, 3, 2),
)
"""As IMAGES, as large as a network's layers: for cores that layers are not cut for."""


def requantised(x: Array, w: Array, filters: int) -> Iterator[tuple[Requant, list[Array | None]]]:
    """Operands with the requantisations of the dialect, of quantised ONNX and of TensorFlow Lite."""
    yield TO_BYTES, [x, w, summands(filters), factors(filters), summands(filters)]
    yield TO_BYTES_IN_64_BITS, [x, w, summands(filters), large_factors(filters), None]
    yield TFLITES, [x, w, summands(filters), large_factors(filters), exponents(filters)]


def constant_convolutions() -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in (*IMAGES, *MEDIUM, *ONE_CHANNEL):
        x, w = values("int8", 1, channels, height, width), values("int8", filters, channels, kernel, kernel)
        for requant, arrays in requantised(x, w, filters):
            yield Conv((stride, stride), padding=(kernel // 2,) * 4, requant=requant), arrays
    for height, width, channels, kernel, stride in (*DEEP, *PLANES):
        x, w = values("int8", 1, channels, height, width), values("int8", channels, 1, kernel, kernel)
        for requant, arrays in requantised(x, w, channels):
            yield Conv((stride, stride), padding=(kernel // 2,) * 4, groups=channels, requant=requant), arrays


def constant_products() -> Iterator[Sample]:
    for m, k, n in (*PRODUCTS, (1, 640, 128), (1, 128, 640)):
        for requant, arrays in requantised(values("int8", m, k), values("int8", k, n), n):
            yield MatMul(requant=requant), arrays


WITH_CONSTANTS = (constant_convolutions, constant_products)
"""What forms are made of, besides being samples as they are."""

OTHERS = (
    products, argmax_matmul, best_blocks, large_products, scattered_products, batched_products, convolutions,
    long_convolutions, depthwise_convolutions, convolutions_channels_second, transposed_convolutions, pools,
    global_pools, short_weights, weights_in_blocks, packed_weights, packed_convolutions, *WITH_CONSTANTS,
)  # fmt: skip
