"""Random fused attentions with operands that fit them. Used by the tests of operators and of kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from tests.support.checks import Case
from tests.support.movement import values
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, Shape, limits
from tilewright.ops._attention_rows import AttentionRows
from tilewright.ops._scaling import Scaling
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax

BYTE_TABLE = np.round(np.exp(-0.05 * np.arange(256)) * 2**24).astype(np.int32)

TYPES = [
    ("int8", "int8", "int8", "int8"), ("int8", "uint8", "uint8", "int16"), ("int8", "int16", "uint8", "int8"),
    ("uint8", "int8", "uint8", "int16"), ("uint8", "uint8", "int8", "int8"), ("uint8", "int16", "int8", "int16"),
    ("int16", "int8", "int8", "int16"), ("int16", "uint8", "uint8", "int8"), ("int16", "int16", "uint8", "int16"),
]  # fmt: skip
"""Of queries, keys, values and the result, each with each of the others': a kernel is compiled for every line."""


def wide_table(bits: int, coarse: int) -> Array:
    tables = [np.exp(-0.0003 * np.arange(coarse) * 2**bits) * 2**24, np.exp(-0.0003 * np.arange(2**bits)) * 2**15]
    return np.concatenate(tables).astype(np.int32)


def shapes(random: Generator) -> tuple[Shape, Shape, Shape]:
    """Of queries, keys and values, with as many keys as queries or more."""
    batch, queries, groups, repeat, more = (int(size) for size in random.integers(1, 4, 5))
    queries, length, width = queries * 3 - 2, int(random.integers(1, 12)), int(random.integers(1, 12))
    keys = queries + more - 1
    return (batch, queries, groups * repeat, length), (batch, keys, groups, length), (batch, keys, groups, width)


def seen(random: Generator, op: AttentionRows, queries: int, keys: int) -> tuple[AttentionRows, list[Array]]:
    """All keys; those up to a query's own; or those of a cache that is filled so far."""
    kind = random.integers(0, 3)
    if kind == 0:
        return op, []
    if kind == 1:
        return replace(op, causal=True, first=int(random.integers(0, keys - queries + 1))), []
    return replace(op, causal=True), [random.integers(0, keys - queries + 1, 1).astype(np.int32)]


def fusedattention(random: Generator) -> Case:
    q, k, v = shapes(random)
    op, position = seen(random, FusedAttention(scale=0.7), q[1], k[1])
    return op, [*((random.standard_normal(shape)).astype(np.float32) for shape in (q, k, v)), *position]


def limitedattention(random: Generator) -> Case:
    """The same with a window, a cap or both."""
    q, k, v = shapes(random)
    cap = float(random.choice([0.0, 1.5]))
    op, position = seen(random, LimitedAttention(scale=0.7, cap=cap), q[1], k[1])
    made = replace(op, window=int(random.integers(1, k[1] + 1))) if op.causal else op
    return made, [*((random.standard_normal(shape)).astype(np.float32) for shape in (q, k, v)), *position]


def softmax_of(wide: bool, shares: str) -> tuple[QLinearMaskedSoftmax, Array, str]:
    """A softmax to shares of bytes, its table and the type of scores that it takes."""
    low, high = limits(shares)
    softmax = QLinearMaskedSoftmax(2**60, Requant(52, shares, low, high, low, "half_even"))
    return (replace(softmax, bits=5), wide_table(5, 200), "int16") if wide else (softmax, BYTE_TABLE, "int8")


def qlinearattention(random: Generator) -> Case:
    q, k, v = shapes(random)
    *types, value, to = TYPES[int(random.integers(len(TYPES)))]
    softmax, table, scores = softmax_of(bool(random.integers(0, 2)), str(random.choice(["int8", "uint8"])))
    narrowed = full_range(12 if scores == "int16" else 16, scores, 2, "half_even")
    made = QLinearAttention(
        q_zero=0 if types[0] == "int16" else 3, k_zero=0 if types[1] == "int16" else -2, v_zero=5, softmax=softmax,
        score=Scaling(int(random.integers(1, 900)), 7, narrowed),
        mix=Scaling(int(random.integers(100, 20000)), 0, full_range(20, to, -3)),
    )  # fmt: skip
    op, position = seen(random, made, q[1], k[1])
    arrays = [values(random, shape, kind) for shape, kind in zip((q, k, v), (*types, value), strict=True)]
    return op, [*arrays, table, *position]


MAKERS: dict[str, Callable[[Generator], Case]] = {
    "FusedAttention": fusedattention,
    "LimitedAttention": limitedattention,
    "QLinearAttention": qlinearattention,
}
