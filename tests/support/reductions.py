"""Random reductions and normalisations with operands. Used by the tests of operators and of kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator

from tests.support.checks import Case
from tests.support.movement import sizes, values
from tilewright.ir.types import Array, Shape
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops._extreme import Extreme
from tilewright.ops._reduction import Reduction
from tilewright.ops._softmax import SoftmaxLike
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmin import ArgMin
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.logsoftmax import LogSoftmax
from tilewright.ops.lrn import LRN
from tilewright.ops.reducel1 import ReduceL1
from tilewright.ops.reducel2 import ReduceL2
from tilewright.ops.reducelogsum import ReduceLogSum
from tilewright.ops.reducelogsumexp import ReduceLogSumExp
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.reduceprod import ReduceProd
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.reducesumsquare import ReduceSumSquare
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.softmax import Softmax

REDUCTIONS: tuple[type[Reduction], ...] = (
    ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum,
    ReduceLogSumExp,
)  # fmt: skip


DTYPES = frozenset({"float32", "int8", "int64", "bool"})
"""Enough to meet every case of the kernels; each takes time to compile."""


def reduction(kind: type[Reduction], random: Generator) -> Case:
    shape = sizes(random, int(random.integers(0, 5)), low=1 if kind is ReduceMean else 0)
    axes = tuple(axis for axis in range(len(shape)) if random.random() < 0.6)
    keepdims = bool(random.integers(0, 2))
    array = values(random, shape, str(random.choice(sorted(kind.accepts & DTYPES))))
    if kind is ReduceLogSum:
        array = np.abs(array)
    whole = array.dtype != np.float32
    if kind is ReduceSum:
        return ReduceSum(axes, keepdims, wide=whole and bool(random.integers(0, 2))), [array]
    if kind is ReduceMean:
        return ReduceMean(axes, keepdims, integer=whole and bool(random.integers(0, 2))), [_halved(array)]
    return kind(axes, keepdims), [array]


def _halved(array: Array) -> Array:
    """Integers whose sums stay within 64 bits."""
    return array if array.dtype == np.float32 else array // 2**16 if array.dtype == np.int64 else array


def extreme(kind: type[Extreme], random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 5)), low=1)
    axis, (keepdims, last) = int(random.integers(0, len(shape))), random.integers(0, 2, 2)
    # Few different values, so that there are ties.
    array = random.integers(0, 4, shape).astype(str(random.choice(sorted(NUMBERS & DTYPES))))
    return kind(axis, bool(keepdims), bool(last)), [array]


def softmax(kind: type[SoftmaxLike], random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 5)))
    return kind(int(random.integers(-len(shape), len(shape)))), [30 * values(random, shape, "float32")]


def layer_norm(random: Generator) -> Case:
    x, row, axis = _rows(random)
    scale = values(random, row, "float32") if random.random() < 0.8 else None
    bias = values(random, row, "float32") if random.random() < 0.6 else None
    return LayerNormalization(axis, 1e-3), [x, scale, bias]


def rms_norm(random: Generator) -> Case:
    x, row, axis = _rows(random)
    return RMSNormalization(axis, 1e-3), [x, values(random, row, "float32")]


def _rows(random: Generator) -> tuple[Array, Shape, int]:
    shape = sizes(random, int(random.integers(1, 5)), low=1)
    axis = int(random.integers(-len(shape), len(shape)))
    return values(random, shape, "float32") + 1, shape[axis % len(shape) :], axis


def group_norm(random: Generator) -> Case:
    groups, per_group = (int(size) for size in random.integers(1, 4, 2))
    n, *spatial = sizes(random, int(random.integers(1, 4)), low=1)
    channels = groups * per_group
    x = values(random, (n, channels, *spatial), "float32")
    return GroupNormalization(groups, 1e-3), [x, *(values(random, (channels,), "float32") for _ in range(2))]


def lrn(random: Generator) -> Case:
    n, channels, *spatial = sizes(random, int(random.integers(2, 5)))
    op = LRN(float(random.random()), 0.75, 1.0 + float(random.random()), int(random.integers(1, 7)))
    return op, [values(random, (n, channels, *spatial), "float32")]


MAKERS: dict[str, Callable[[Generator], Case]] = {
    **{kind.__name__: partial(reduction, kind) for kind in REDUCTIONS},
    **{kind.__name__: partial(extreme, kind) for kind in (ArgMax, ArgMin)},
    **{kind.__name__: partial(softmax, kind) for kind in (Softmax, LogSoftmax)},
    "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm,
    "GroupNormalization": group_norm,
    "LRN": lrn,
}
