"""Operators that requantise, on totals halfway between two results on both sides of zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tests.support.checks import Case
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import SCALED, Rounding
from tilewright.ir.types import Array
from tilewright.ops._packed import row_bytes
from tilewright.ops._scaling import Scaling
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.conv import Conv
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.matmul import MatMul
from tilewright.ops.packedconv import PackedConv
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlineargather import QLinearGather
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearresize import QLinearResize
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.tfliteadd import Summand, TfliteAdd

SHIFTS = (3, 5, 16, 22, 31, 32, 33, 36)
"""Below, at and above the widths of words."""
NATIVE_SHIFTS = (3, 5, 16)
WIDE = 3
"""Bits by which totals are larger than results: one in eight is a tie."""


@dataclass(frozen=True)
class Scale:
    """2**-WIDE, or 2**-6: a requantisation with its factor, and what stands beside it."""

    requant: Requant
    mul: int
    add: int | None

    def muls(self, count: int) -> Array:
        return np.full(count, self.mul, np.int32)

    def adds(self, count: int) -> Array | None:
        return None if self.add is None else np.full(count, self.add, np.int32)

    def summands(self, count: int) -> Array:
        return np.full(count, self.add or 0, np.int32)

    @property
    def scaling(self) -> Scaling:
        return Scaling(self.mul, self.add or 0, self.requant)


def ranges(shift: int, rounding: Rounding, dtype: str) -> Iterator[Requant]:
    """All of a type around its middle and around an odd zero point; and from the zero point on."""
    if dtype == "uint8":
        yield full_range(shift, dtype, 128, rounding)
        return
    yield full_range(shift, dtype, 0, rounding)
    yield full_range(shift, dtype, 3, rounding)
    yield Requant(shift, dtype, -5, 100, -5, rounding)


def scales(rounding: Rounding, dtype: str = "int8") -> Iterator[Scale]:
    if rounding == Rounding.FLOAT:
        bits = int(np.float32(2.0**-WIDE).view(np.int32))
        yield from (Scale(requant, bits, None) for requant in ranges(0, rounding, dtype))
    elif rounding in SCALED:
        yield from (Scale(requant, 1 << 30, 1 - WIDE) for requant in ranges(0, rounding, dtype))
    else:
        for shift in NATIVE_SHIFTS if rounding == Rounding.NATIVE else SHIFTS:
            for requant in ranges(shift, rounding, dtype):
                found = Scale(requant, 1 << min(shift - WIDE, 30), None)
                yield found
                yield replace(found, add=1 << (shift - 1) if shift < 31 else 0)


def bytes_of(*shape: int, dtype: str = "int8", most: int = 60) -> Array:
    low = 0 if dtype.startswith("u") else -most
    return np.random.default_rng(sum(shape)).integers(low, most, shape).astype(dtype)


def ones_of(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-1, 2, shape).astype(np.int8)


# ---- sums of products ---------------------------------------------------------------------------------------------


def products(rounding: Rounding) -> Iterator[Case]:
    for scale in (*scales(rounding), *scales(rounding, "uint8")):
        for rows, columns, is_each in ((1, 8, True), (5, 8, True), (4, 8, False)):
            count = columns if is_each else 1
            rest = [None, scale.muls(count), scale.adds(count)]
            yield MatMul(trans_b=True, requant=scale.requant), [bytes_of(rows, 16), ones_of(columns, 16), *rest]
            yield MatMul(requant=scale.requant), [bytes_of(rows, 16), ones_of(16, columns), *rest]


def small_products(rounding: Rounding) -> Iterator[Case]:
    for scale in scales(rounding):
        for heads, rows, inner, columns in ((4, 1, 4, 8), (2, 16, 4, 4), (4, 1, 12, 4)):
            rest = [None, scale.muls(1), scale.summands(1)]
            for trans, b in ((True, (heads, columns, inner)), (False, (heads, inner, columns))):
                yield (
                    MatMul(trans_b=trans, requant=scale.requant),
                    [bytes_of(heads, rows, inner), ones_of(*b), *rest],
                )


def convolutions(rounding: Rounding) -> Iterator[Case]:
    for scale in (*scales(rounding), *scales(rounding, "uint8")):
        for is_last, x, w in ((True, (1, 5, 5, 16), (8, 3, 3, 16)), (False, (1, 16, 5, 5), (8, 16, 3, 3))):
            op = Conv(padding=(1,) * 4, channels_last=is_last, requant=scale.requant)
            yield op, [bytes_of(*x, most=20), ones_of(*w), None, scale.muls(8), scale.adds(8)]
            deep = replace(op, groups=16)
            w = (16, 3, 3, 1) if is_last else (16, 1, 3, 3)
            yield deep, [bytes_of(*x), ones_of(*w), None, scale.muls(16), scale.adds(16)]


def packed_products(rounding: Rounding) -> Iterator[Case]:
    for scale in scales(rounding):
        codes = np.random.default_rng(4).integers(0, 256, (8, row_bytes(32, 2))).astype(np.uint8)
        rest = [None, scale.muls(8), scale.adds(8)]
        yield PackedMatMul(2, -2, scale.requant), [bytes_of(3, 32, most=20), codes, *rest]
        yield PackedConv(2, -2, (32, 1, 1), Conv(requant=scale.requant)), [bytes_of(1, 32, 3, 3, most=20), codes, *rest]


def argmax_matmul(rounding: Rounding) -> Iterator[Case]:
    for scale in scales(rounding, "int16"):
        rest = [None, scale.muls(64), scale.adds(64)]
        yield ArgMaxMatMul(8, scale.requant), [bytes_of(1, 32), ones_of(64, 32), *rest]


# ---- elements -----------------------------------------------------------------------------------------------------


def elements(rounding: Rounding) -> Iterator[Case]:
    for dtype in ("int8", "uint8", "int16"):
        for scale in scales(rounding, dtype):
            for axis, x in ((-1, bytes_of(90)), (1, bytes_of(9, 10)), (0, bytes_of(10, 16))):
                count = 1 if axis < 0 else x.shape[axis]
                muls, adds = scale.muls(count), scale.summands(count)
                yield RequantShift(scale.requant, axis), [x, muls, adds]
                yield RequantShift(scale.requant, axis), [x.astype(np.int32) * 7, muls, adds]


def sums(rounding: Rounding) -> Iterator[Case]:
    for dtype in ("int8", "int16"):
        for scale in scales(rounding, dtype):
            a, b = bytes_of(8, 24), bytes_of(8, 24)[::-1].copy()
            if scale.mul < 1 << 20:
                op = QLinearAdd(scale.mul, 3 * scale.mul, scale.add or 0, scale.requant)
                yield from ((op, [a, other]) for other in (b, b[:1], b.astype(np.int16)))


def sums_of_scaled(rounding: Rounding) -> Iterator[Case]:
    for scale in scales(rounding):
        for other in scales(rounding):
            if other.requant.shift == scale.requant.shift and other.requant.zero_point == 0:
                op = RequantizedAdd(other.scaling, other.scaling, scale.scaling)
                yield op, [bytes_of(8, 24), bytes_of(8, 24)[::-1].copy()]
                yield op, [bytes_of(4, 8, 24), bytes_of(8, 24)]


def multiplications(rounding: Rounding) -> Iterator[Case]:
    for dtype in ("int8", "int16"):
        for scale in scales(rounding, dtype):
            op = QLinearMul(1, 0, scale.mul, scale.requant, scale.add or 0)
            a, b = bytes_of(8, 24, most=20), ones_of(8, 24) * np.int8(3)
            yield from ((op, [a, other]) for other in (b, b[:1]))
            yield replace(op, a_zero=0), [a.astype(np.int16), b.astype(np.int16)]


def tflite_sums(rounding: Rounding) -> Iterator[Case]:
    for requant in ranges(0, rounding, "int8"):
        summand = Summand(3, 1 << 30, 0)
        op = TfliteAdd(20, summand, summand, 1 << 30, -20, requant)
        yield op, [bytes_of(8, 24), bytes_of(8, 24)[::-1].copy()]
        yield op, [bytes_of(40, 24), bytes_of(40, 24)[::-1].copy()]


def functions(rounding: Rounding) -> Iterator[Case]:
    for shift in (11, 16):
        table = np.arange(-128, 129, dtype=np.int32) << (shift - 11)
        for requant in ranges(shift, rounding, "int8"):
            yield QLinearFunction(requant), [bytes_of(90).astype(np.int16) << 8, table]


# ---- rows ---------------------------------------------------------------------------------------------------------


def means(rounding: Rounding) -> Iterator[Case]:
    for shift in (0, 3):
        for requant in ranges(shift, rounding, "int8"):
            for axes in ((0,), (1,)):
                yield QLinearReduceMean(axes, False, 1, 1, requant), [bytes_of(4, 4)]
            yield QLinearReduceMean((1, 2), True, 1, 1, requant), [bytes_of(1, 2, 2, 16)]
            pool = QLinearAveragePool((2, 2), kernel=(2, 2), mul=1, requant=requant)
            yield pool, [bytes_of(1, 4, 8, 8)]
            yield replace(pool, channels_last=True), [bytes_of(1, 8, 8, 16)]


def softmaxes(rounding: Rounding) -> Iterator[Case]:
    """Of 512 equal elements each has half a step."""
    table = np.round(np.exp(-0.05 * np.arange(ENTRIES)) * 2**24).astype(np.int32)
    wide = np.concatenate([table, np.full(64, 1 << 15, np.int32)])
    for zero in (-128, -127):
        requant = Requant(52, "int8", -128, 127, zero, rounding)
        x, mask = np.zeros((2, 512), np.int8), np.ones((1, 512), np.uint8)
        yield QLinearSoftmax(1, 2**60, requant), [x, table]
        yield QLinearMaskedSoftmax(2**60, requant), [x, mask, table]
        yield QLinearMaskedSoftmax(2**60, requant, 6), [x.astype(np.int16), mask, wide]


def attentions(rounding: Rounding) -> Iterator[Case]:
    table = np.round(np.exp(-0.05 * np.arange(ENTRIES)) * 2**24).astype(np.int32)
    shares = Requant(52, "int8", -128, 127, -128, rounding if rounding not in SCALED else Rounding.HALF_EVEN)
    for scale in scales(rounding):
        softmax = QLinearMaskedSoftmax(2**60, shares)
        op = QLinearAttention(score=scale.scaling, softmax=softmax, mix=scale.scaling)
        q, k, v = bytes_of(1, 4, 2, 8, most=9), bytes_of(1, 8, 2, 8, most=9), bytes_of(1, 8, 2, 8, most=9)
        yield op, [q, k, v, table]


def norms(rounding: Rounding) -> Iterator[Case]:
    """Elements that are all as far from their mean, half a step in the end."""
    x = np.where(np.random.default_rng(5).integers(0, 2, (6, 32)), 9, -7).astype(np.int8)
    x[:, ::2] = 2 - x[:, 1::2]
    for shift, mul in ((21, 1), (24, 8), (40, 1 << 19), (44, 3 << 23)):
        for requant in ranges(shift, rounding, "int8"):
            for dtype in ("int8", "int16"):
                rest = [np.full((1, 32), mul, np.int32), np.zeros((1, 32), np.int32)]
                yield QLinearRowNorm(1, True, 0, 0, 0, 0, requant), [x.astype(dtype), *rest]


def resizes(rounding: Rounding) -> Iterator[Case]:
    taps = np.array([[0, 1], [1, 2], [2, 3]], np.int32)
    for shift in (1, 8, 20):
        weight = np.full((3, 2), 1 << (shift - 1), np.int32)
        for requant in ranges(shift, rounding, "int8"):
            yield from ((QLinearResize(axis, 1, requant), [bytes_of(5, 6), taps, weight]) for axis in (0, 1))


def rotations(rounding: Rounding) -> Iterator[Case]:
    for dtype in ("int8", "int16"):
        for scale in scales(rounding, dtype):
            cosine, sine = np.ones((6, 16), np.int16), np.zeros((6, 16), np.int16)
            yield QLinearRotate(False, 0, scale.mul, scale.requant), [bytes_of(6, 16, dtype=dtype), cosine, sine]


def gathers(rounding: Rounding) -> Iterator[Case]:
    for dtype in ("int8", "int16"):
        for scale in scales(rounding, dtype):
            rows, columns = scale.muls(9), np.ones(16, np.int32)
            yield QLinearGather(scale.requant), [bytes_of(9, 16), np.array([3, 0, 7], np.int32), rows, columns]


def integer_softmaxes(rounding: Rounding) -> Iterator[Case]:
    for scale in scales(rounding):
        for op in (iSoftmax(ln2=63, b=85, c=3770), ITAMax(), ITAPartialMax(256, 16)):
            yield replace(op, out=scale.scaling), [bytes_of(8, 32)]


MAKERS: tuple[Callable[[Rounding], Iterator[Case]], ...] = (
    products, small_products, convolutions, packed_products, argmax_matmul, elements, sums, sums_of_scaled,
    multiplications, tflite_sums, functions, means, softmaxes, attentions, norms, resizes, rotations, gathers,
    integer_softmaxes,
)  # fmt: skip
