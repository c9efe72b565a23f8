"""Samples of reductions, and of operators that work row by row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.calibration.values import MEANS, TO_BYTES, Sample, factors, summands, values
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Shape
from tilewright.ops._extreme import Extreme
from tilewright.ops._reduction import Reduction
from tilewright.ops._scaling import Scaling
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.ops.logsoftmax import LogSoftmax
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.lrn import LRN
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.softmax import Softmax

SHAPES: tuple[Shape, ...] = ((1, 64), (4, 16), (16, 65), (16, 8), (8, 128), (33, 20), (64, 64), (128, 8))
"""Rows and their length."""
DTYPES = ("float32", "int8", "int32", "int64")
OUT = Scaling(1334100, 0, TO_BYTES)
NORMALISED = full_range(42, "int8", -2, Rounding.HALF_EVEN)
"""From a factor of a normalised element."""


def reductions(kind: type[Op]) -> Iterator[Sample]:
    """Along rows and along columns."""
    for shape in SHAPES:
        if issubclass(kind, Extreme):
            for dtype in DTYPES:
                yield kind(1), [values(dtype, *shape)]
        elif issubclass(kind, Reduction) and kind is not QLinearReduceMean:
            for dtype in sorted(kind.accepts & {*DTYPES}):
                yield kind((1,)), [values(dtype, *shape)]
                yield kind((0,)), [values(dtype, *shape)]


def integer_means() -> Iterator[Sample]:
    for shape in SHAPES:
        yield ReduceMean((0,), integer=True), [values("int8", *shape)]
        for axis in (0, 1):
            op = QLinearReduceMean((axis,), mul=900, requant=MEANS)
            yield op, [values("int8", *shape)]


def softmaxes() -> Iterator[Sample]:
    table = np.round(np.exp(-0.05 * np.arange(ENTRIES)) * 2**24).astype(np.int32)
    to_bytes = Requant(52, "int8", -128, 127, -128, Rounding.HALF_EVEN)
    for shape in SHAPES:
        yield Softmax(), [values("float32", *shape)]
        yield LogSoftmax(), [values("float32", *shape)]
        yield QLinearSoftmax(1, 2**60, to_bytes), [values("int8", *shape), table]
        for dtype in ("int8", "int32"):
            yield iSoftmax(ln2=63, b=85, c=3770, out=OUT), [values(dtype, *shape)]
            yield iSoftmax(ln2=14, b=19, c=192, out=OUT), [values(dtype, *shape)]
            yield ITAMax(), [values(dtype, *shape)]
        yield ITAPartialMax(256, min(16, shape[1])), [values("int8", *shape)]


def attentions() -> Iterator[Sample]:
    """What one has besides products: masked softmaxes of bytes and of 16 bits, and rotations."""
    bytes_table = np.round(np.exp(-0.05 * np.arange(ENTRIES)) * 2**24).astype(np.int32)
    wide_table = np.concatenate([bytes_table, np.arange(64, 0, -1, dtype=np.int32) << 9])
    to_bytes = Requant(52, "int8", -128, 127, -128, Rounding.HALF_EVEN)
    for rows, length in SHAPES:
        mask = np.tri(rows, length, dtype=np.uint8)
        yield QLinearMaskedSoftmax(2**60, to_bytes), [values("int8", rows, length), mask, bytes_table]
        yield QLinearMaskedSoftmax(2**60, to_bytes, 6), [values("int16", rows, length), mask, wide_table]
        even = length + length % 2
        angles = [values("int16", rows, even) for _ in range(2)]
        for dtype in ("int8", "int16"):
            yield QLinearRotate(False, 0, 900, TO_BYTES), [values(dtype, rows, even), *angles]
            turned = full_range(45, "int16", 0, Rounding.HALF_EVEN)
            yield QLinearRotate(False, 0, 2**30 - 3, turned), [values(dtype, rows, even), *angles]


def fused_attentions() -> Iterator[Sample]:
    """Of floats; tokens first."""
    for queries, keys, heads, groups, length in (
        (1, 32, 4, 2, 8),
        (16, 16, 4, 4, 16),
        (8, 40, 2, 1, 32),
        (4, 9, 2, 2, 5),
    ):
        q, k, v = (
            values("float32", 1, queries, heads, length),
            *(values("float32", 1, keys, groups, length) for _ in "kv"),
        )
        yield FusedAttention(causal=queries == keys, scale=0.3), [q, k, v]
        window = min(queries, 7) if queries == keys else 0
        yield LimitedAttention(causal=queries == keys, scale=0.3, window=window, cap=2.0), [q, k, v]


NUMERATOR = 1148417837063212928
"""As a network has it: one that is a power of two makes ties likely."""
ATTENTIONS = (
    (1, 16, 8, 4, 8, 8),
    (1, 64, 8, 8, 16, 16),
    (16, 16, 8, 4, 8, 8),
    (8, 32, 4, 4, 32, 32),
    (32, 32, 16, 16, 4, 4),
    (1, 64, 8, 8, 4, 4),
    (1, 128, 16, 16, 4, 4),
)
"""Queries, keys, heads, groups, length and width."""


def integer_attentions() -> Iterator[Sample]:
    random = np.random.default_rng(9)
    exponentials = np.round(np.exp(-0.05 * np.arange(256)) * 2**24).astype(np.int32)
    tables = {0: exponentials, 6: np.concatenate([exponentials, np.arange(64, 0, -1, dtype=np.int32) << 9])}
    shares = Requant(52, "int8", -128, 127, -128, Rounding.HALF_EVEN)
    for queries, keys, heads, groups, length, width in ATTENTIONS:
        for bits, keys_dtype in ((0, "int8"), (6, "int16")):
            scores = full_range(36, "int16" if bits else "int8", 0, Rounding.HALF_EVEN)
            op = QLinearAttention(
                causal=queries == keys, q_zero=3, k_zero=0, v_zero=-5,
                score=Scaling(2**20 + 7, 0, scores), softmax=QLinearMaskedSoftmax(NUMERATOR, shares, bits),
                mix=Scaling(2**24 + 9, 0, full_range(37, "int8", 0, Rounding.HALF_EVEN)),
            )  # fmt: skip
            q = random.integers(-128, 128, (1, queries, heads, length)).astype(np.int8)
            k = random.integers(-128, 128, (1, keys, groups, length)).astype(keys_dtype)
            v = random.integers(-128, 128, (1, keys, groups, width)).astype(np.int8)
            yield op, [q, k, v, tables[bits]]


def norms() -> Iterator[Sample]:
    for shape in SHAPES:
        row = shape[1:]
        yield LayerNormalization(), [values("float32", *shape), values("float32", *row), values("float32", *row)]
        yield RMSNormalization(), [values("float32", *shape), values("float32", *row)]
        for dtype in ("int8", "int32"):
            yield iLayerNorm(14), [values(dtype, *shape), factors(*row), summands(*row)]
            yield iRMSNorm(16), [values(dtype, *shape), factors(*row)]
        scale = [values("int32", 1, *row) for _ in range(2)]
        yield QLinearRowNorm(1, True, 2, 100, 8, 15, TO_BYTES), [values("int8", *shape), *scale]
        for dtype in ("int8", "int16"):
            factor = values("int32", 1, *row) * 2**19 + 1
            yield QLinearRowNorm(1, False, 0, 100, 8, 9, NORMALISED), [values(dtype, *shape), factor, scale[1]]


def channel_norms() -> Iterator[Sample]:
    for channels, width in ((8, 16), (16, 30), (32, 8)):
        x = values("float32", 1, channels, width)
        yield GroupNormalization(4), [x, values("float32", channels), values("float32", channels)]
        yield LRN(size=5), [x]


OTHERS = (integer_means, softmaxes, attentions, fused_attentions, integer_attentions, norms, channel_norms)
