"""The cluster's kernels on bytes, element by element and row by row, against their operators' numpy meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, limits
from tilewright.ops._scaling import UNCHANGED, Scaling
from tilewright.ops._windows import reach
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.lookup import Lookup
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.where import Where
from tilewright.run.kernel_bench import Case, check

Made = tuple[Op, list[Array | None]]


def case(source: str, seed: int) -> Case | None:
    """None where the kernel objects."""
    op, arrays = MAKERS[source](Draw(seed))
    kernel = next(k for k in KERNELS if k.source == source)
    made = Case(kernel, op, arrays, skew=seed % 4)
    return made if kernel.unsupported_reason(op, made.types) is None else None


def scaling(draw: Draw, dtype: str, rounding: str) -> Scaling:
    if draw.size(5) == 1 and rounding == "half_up":
        return UNCHANGED
    low, high = limits(dtype)
    requant = Requant(16, dtype, low, high - draw.size(20), draw.size(9) - 5, rounding)
    return Scaling(int(draw.between(-(2**17), 2**21)), int(draw.between(-(2**20), 2**20)), requant)


def operands(draw: Draw) -> list[Array | None]:
    """Of the same shape, or one of them broadcast along some axes."""
    shape = [draw.size(13) for _ in range(draw.size(3))]
    other = [size if draw.size(3) > 1 else 1 for size in shape][draw.size(len(shape)) - 1 :]
    a, b = draw.array(draw.byte(), *shape), draw.array(draw.byte(), *other)
    return [a, b] if draw.flag() else [b, a]


def rounding(draw: Draw) -> str:
    return "half_even" if draw.flag() else "half_up"


def requantised_add(draw: Draw) -> Made:
    ties = rounding(draw)
    stages = [scaling(draw, draw.byte(), ties) for _ in range(2)]
    return RequantizedAdd(*stages, Scaling(40000, 77, Requant(16, "int8", -128, 127, 0, ties))), operands(draw)


def many_additions(draw: Draw) -> Made:
    shape = [2 + draw.size(2), 40 + draw.size(9), 37 + draw.size(20)]
    op, _ = requantised_add(draw)
    plain = ({}, {"second": UNCHANGED}, {"first": UNCHANGED, "second": UNCHANGED})[draw.size(3) - 1]
    op = replace(op, **plain)  # type: ignore[type-var]
    return op, [draw.array(draw.byte(), *shape), draw.array(draw.byte(), *shape[draw.size(3) - 1 :])]


def repeated_additions(draw: Draw) -> Made:
    shape = [7 + draw.size(3), 70 + draw.size(20)]
    op, _ = requantised_add(draw)
    return op, [draw.array(draw.byte(), draw.size(4), *shape), draw.array(draw.byte(), *shape)]


def quantised_product(draw: Draw) -> Made:
    arrays = operands(draw)
    zeros = [draw.zero(array.dtype.name) for array in arrays if array is not None] if draw.flag() else [0, 0]
    if draw.flag():
        return QLinearMul(0, 0, int(draw.between(1, 900)), full_range(14 + draw.size(3), draw.byte())), arrays
    requant = Requant(16, "uint8", 3, 250, draw.size(200), rounding(draw))
    return QLinearMul(*zeros, int(draw.between(1, 9000)), requant, int(draw.between(-(2**20), 2**20))), arrays


def quantised_sum(draw: Draw) -> Made:
    factors = [int(draw.between(-(2**20), 2**21)) for _ in range(2)]
    requant = Requant(21, "int8", -128, 127, -draw.size(128), rounding(draw))
    return QLinearAdd(*factors, int(draw.between(-(2**27), 2**27)), requant), operands(draw)


def table(draw: Draw) -> Made:
    return Lookup(0), [draw.array(draw.byte(), draw.size(40), draw.size(9)), draw.array(draw.byte(), 256)]


def closer(x: Array, by: int) -> Array:
    return (x.astype(np.int32) // by).astype(x.dtype)


EXPONENTIALS = ((4, 5, 13), (19, 25, 334), (32, 43, 199), (47, 64, 2136), (63, 85, 3770), (255, 900, 100_000))
"""Whose largest ones are from 38 to 910,000; 2048 is the first that 32 bits are too few for."""


def softmax(draw: Draw) -> Made:
    out = {"out": Scaling(int(draw.between(1, 2**21)), 5, full_range(16, draw.byte()))} if draw.flag() else {}
    ln2, b, c = EXPONENTIALS[draw.size(len(EXPONENTIALS)) - 1]
    x = closer(draw.array(draw.byte(), draw.size(20), draw.size(140)), draw.size(3))
    return iSoftmax(n_levels=256, ln2=ln2, b=b, c=c, **out), [x]  # type: ignore[arg-type]


def shares(draw: Draw) -> Made:
    out = {"out": Scaling(int(draw.between(1, 2**21)), 5, full_range(16, draw.byte()))} if draw.flag() else {}
    x = closer(draw.array(draw.byte(), draw.size(20), draw.size(70)), draw.size(9))
    return ITAMax(n_levels=256, **out), [x]  # type: ignore[arg-type]


def partial_shares(draw: Draw) -> Made:
    op, arrays = shares(draw)
    assert isinstance(op, ITAMax)
    return ITAPartialMax(n_levels=256, out=op.out, group_width=draw.size(20)), arrays


def integer_gelu(draw: Draw) -> Made:
    x = draw.array(str(draw.one_of("int8", "uint8", "int32")), draw.size(99))
    return iGELU(-draw.size(200), draw.size(2**20)), [x]


def integer_hardswish(draw: Draw) -> Made:
    x = draw.array(str(draw.one_of("int8", "uint8", "int32")), draw.size(99))
    return iHardswish(draw.size(2000), draw.size(4000), draw.size(100)), [x]


def norm(draw: Draw) -> Made:
    length = draw.size(70)
    x = closer(draw.array(draw.byte(), draw.size(20), length), draw.size(30))
    return iRMSNorm(shift=draw.size(31)), [x, draw.between(-(2**24), 2**24 - 1, length)]


def layer_norm(draw: Draw) -> Made:
    length = draw.size(70)
    x = closer(draw.array(draw.byte(), draw.size(20), length), draw.size(300))
    return iLayerNorm(shift=draw.size(16)), [
        x,
        draw.between(-(2**31), 2**31 - 1, length),
        draw.between(-(2**20), 2**20, length),
    ]


def requantisation(draw: Draw) -> Made:
    shape = [draw.size(13) for _ in range(draw.size(3))]
    axis = draw.size(len(shape) + 1) - 2
    values = (1,) if axis < 0 else (shape[axis],)
    x = draw.array(str(draw.one_of("int8", "uint8", "int16", "int32")), *shape)
    requant, (mul, add) = draw.requant(draw.byte(), 1, values)
    return RequantShift(requant, axis), [x, mul, np.zeros(values, np.int32) if add is None else add]


def max_pool(draw: Draw) -> Made:
    rank = draw.size(2)
    kernel, strides, dilations = (tuple(draw.size(high) for _ in range(rank)) for high in (3, 3, 2))
    padding = tuple(draw.size(4) - 1 for _ in range(2 * rank))
    spatial = [reach(taps, dilation) + draw.size(5) for taps, dilation in zip(kernel, dilations, strict=True)]
    x = draw.array(draw.byte(), draw.size(2), *spatial, draw.size(27))
    return MaxPool(strides, dilations, padding, kernel, channels_last=True), [x]


def quantisation(draw: Draw) -> Made:
    """With quotients that are halves, or next to them, and what is out of range or not a number."""
    scale = np.float32(draw.one_of(0.1, 0.25, 3e-3, 7.7, 1e-36))
    halves = draw.between(-600, 600, draw.size(60)) * np.float32(0.5) * scale
    near = [np.nextafter(halves, np.float32(sign * np.inf), dtype=np.float32) for sign in (-1, 1)]
    x = np.concatenate([halves, *near, draw.array("float32", 20) * 99 * scale, [np.inf, -np.inf, np.nan]])
    dtype = draw.byte()
    return QuantizeLinear(), [x.astype(np.float32), scale.reshape(()), draw.array(dtype, 1).reshape(())]


def choice(draw: Draw) -> Made:
    """Any of the three may be broadcast."""
    shape = [draw.size(13) for _ in range(draw.size(3))]
    c, a, b = ([size if draw.flag() else 1 for size in shape] for _ in range(3))
    dtype = str(draw.one_of("float32", "int32", "int16", "uint8"))
    return Where(), [draw.between(0, 1, *c).astype(np.bool_), draw.array(dtype, *a), draw.array(dtype, *b)]


MAKERS: dict[str, Callable[[Draw], Made]] = {
    "requantizedadd_bytes.c": requantised_add,
    "requantizedadd_tables.c": many_additions,
    "requantizedadd_repeated.c": repeated_additions,
    "qlinearmul_bytes.c": quantised_product,
    "qlinearadd_bytes.c": quantised_sum,
    "lookup_bytes.c": table,
    "isoftmax_bytes.c": softmax,
    "itamax_rows.c": shares,
    "itapartialmax_rows.c": partial_shares,
    "igelu_shared.c": integer_gelu,
    "ihardswish_shared.c": integer_hardswish,
    "irmsnorm_bytes.c": norm,
    "ilayernorm_bytes.c": layer_norm,
    "requantshift_columns.c": requantisation,
    "maxpool_bytes.c": max_pool,
    "quantizelinear_products.c": quantisation,
    "where_shared.c": choice,
}


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_kernels(cores: int) -> None:
    """All in one program: starting compilers and machines takes longer than most of them do."""
    cases = [[found for seed in range(40) if (found := case(source, seed))] for source in MAKERS]
    assert min(map(len, cases)) >= 15
    check(share(list(chain(*cases)), cores), SIRACUSA, cores)
