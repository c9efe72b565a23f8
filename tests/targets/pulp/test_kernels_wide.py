"""The cluster's kernels on integers of 8 and 16 bits, as decoders have them, against their operators' numpy meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import cast

import numpy as np
import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.errors import Refusal
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, limits
from tilewright.ops.matmul import MatMul
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.requant.high_word import HighWord, high_word
from tilewright.run.kernel_bench import Case, check
from tilewright.target.kernel import Kernel
from tilewright.targets.pulp import packed, wide_rows

Made = tuple[Op, list[Array | None]]
SEEDS = 60


def kind(draw: Draw) -> str:
    return cast(str, draw.one_of("int8", "uint8", "int16", "int16"))


def ends(draw: Draw, dtype: str, *shape: int) -> Array:
    """Any values, and now and then only the smallest and the largest."""
    low, high = limits(dtype)
    return draw.random.choice([low, high], shape).astype(dtype) if draw.size(5) == 1 else draw.array(dtype, *shape)


def requant(draw: Draw, shift: int, dtype: str) -> Requant:
    return full_range(shift, dtype, draw.zero(dtype), "half_even" if draw.flag() else "half_up")


def shapes(draw: Draw) -> tuple[list[int], list[int]]:
    """The same, or the second broadcast along some axes."""
    shape = [draw.size(13) for _ in range(draw.size(3))]
    return shape, [size if draw.size(3) > 1 else 1 for size in shape][draw.size(len(shape)) - 1 :]


def product(draw: Draw) -> Made:
    kinds, (shape, other) = [kind(draw) for _ in range(2)], shapes(draw)
    zeros = [draw.zero(dtype) if dtype != "int16" else 0 for dtype in kinds]
    # Factors with many zeros below make ties.
    mul = int(draw.between(2**8, 2**15)) << draw.size(16) - 1
    size = sum(16 if dtype == "int16" else 8 for dtype in kinds)
    to = kind(draw)
    shift = max(size + mul.bit_length() - (16 if to == "int16" else 8) - draw.size(3), 20)
    return QLinearMul(*zeros, mul, requant(draw, shift, to)), [
        ends(draw, kinds[0], *shape),
        ends(draw, kinds[1], *other),
    ]


def total(draw: Draw) -> Made:
    kinds, to, (shape, other) = [kind(draw) for _ in range(2)], kind(draw), shapes(draw)
    shift = 18 + draw.size(8)
    bits = shift + (15 if to == "int16" else 7)
    muls = [
        int(draw.between(-(2**29), 2**29)) >> max(0, 29 - bits + (16 if dtype == "int16" else 8)) for dtype in kinds
    ]
    offset = int(draw.between(-(2**20), 2**20)) << max(bits - 21, 0)
    if draw.flag():  # ties
        muls, offset = [mul & -(2 ** (shift - 3)) for mul in muls], offset & -(2 ** (shift - 3))
    arrays = [ends(draw, kinds[0], *shape), ends(draw, kinds[1], *other)]
    return QLinearAdd(*muls, offset, requant(draw, shift, to)), cast("list[Array | None]", arrays)


def rotation(draw: Draw) -> Made:
    dtype, to = kind(draw), kind(draw)
    shape = (*(draw.size(9) for _ in range(draw.size(3) - 1)), 2 * draw.size(9))
    table = (*(size if draw.flag() else 1 for size in shape[:-1]), shape[-1])[draw.size(len(shape)) - 1 :]
    size = 17 + (16 if dtype == "int16" else 8)
    mul = int(draw.between(2**20, 2**30)) if draw.flag() else 1 << 19 + draw.size(10)
    shift = size + mul.bit_length() - (16 if to == "int16" else 8) - draw.size(2)
    op = QLinearRotate(draw.flag(), draw.zero(dtype) if dtype != "int16" else 0, mul, requant(draw, shift, to))
    return op, [ends(draw, dtype, *shape), ends(draw, "int16", *table), ends(draw, "int16", *table)]


def norm(draw: Draw) -> Made:
    dtype, to, rank = kind(draw), kind(draw), 1 + draw.size(2)
    shape = (*(draw.size(30 if rank == 2 else 9) for _ in range(rank - 1)), draw.size(120 if rank == 2 else 40))
    axis = rank - 1 if draw.size(4) > 1 else rank - 2
    factors = (*(1,) * axis, *shape[axis:])
    if draw.size(4) == 1:
        factors = shape
    length = int(np.prod(shape[axis:]))
    x = ends(draw, dtype, *shape)
    if draw.flag():
        x = (x.astype(np.int32) >> draw.size(9)).astype(dtype)
    shift, lift = 36 + draw.size(8), draw.size(22)
    mul = draw.between(-(2**17), 2**17, *factors) << (shift - 36)
    if draw.size(4) == 1:
        mul = np.full(factors, 2 ** (shift - 22), np.int32)
    most = 2 ** min(30, shift + 7 - lift)
    add = draw.between(-most, most, *factors) if draw.flag() else np.zeros(factors, np.int32)
    zero, fraction = draw.zero(dtype) if dtype != "int16" else int(draw.between(-300, 300)), 2 * draw.size(6)
    op = QLinearRowNorm(
        axis, draw.flag(), zero, int(draw.between(0, length * 2**fraction)), fraction, lift, requant(draw, shift, to)
    )
    return op, [x, mul.astype(np.int32), add]


def function(draw: Draw) -> Made:
    size, shift = draw.size(10), draw.size(21)
    table = draw.between(-(2 ** (12 + size)), 2 ** (12 + size), 2**size + 1)
    if draw.flag():  # ties
        table = table & -(2 ** max(0, shift - 18 + size))
    return QLinearFunction(requant(draw, shift, kind(draw))), [ends(draw, "int16", draw.size(5), draw.size(40)), table]


def steps(draw: Draw) -> Made:
    table = ends(draw, cast(str, draw.one_of("int8", "uint8")), 2 ** draw.size(16))
    return QLinearSteps(), [ends(draw, "int16", draw.size(5), draw.size(40)), table]


MAKERS: dict[str, Callable[[Draw], Made]] = {
    "qlinearmul_high.c": product,
    "qlinearadd_halves.c": total,
    "qlinearrotate_rows.c": rotation,
    "qlinearrownorm_rows.c": norm,
    "qlinearfunction_shared.c": function,
    "qlinearsteps_shared.c": steps,
}


def case(kernel: Kernel, made: Made, skew: int) -> Case | None:
    """None where the operator or the kernel objects."""
    found = Case(kernel, *made, skew=skew)
    try:
        return found if kernel.unsupported_reason(made[0], found.types) is None else None
    except Refusal:
        return None


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_kernels(cores: int) -> None:
    """All in one program: starting compilers and machines takes longer than most of them do."""
    cases = [cases_of(source) for source in MAKERS]
    assert min(map(len, cases)) >= SEEDS // 3
    check(share(list(chain(*cases)), cores), SIRACUSA, cores)


def cases_of(source: str) -> list[Case]:
    kernel = next(kernel for kernel in wide_rows.KERNELS if kernel.source == source)
    found = [case(kernel, MAKERS[source](Draw(seed)), 2 * (seed % 2)) for seed in range(SEEDS)]
    return [one for one in found if one is not None]


# ---- products of bytes with results of 16 bits ----------------------------------------------------------------------


def wide_product(source: str, seed: int) -> Case | None:
    draw = Draw(seed)
    rows, inner, columns = draw.size(3 if source == "matvec_dots.c" else 11), 3 + draw.size(70), 3 + draw.size(30)
    a, b = ends(draw, draw.byte(), rows, inner), ends(draw, draw.byte(), columns, inner)
    bias = draw.between(-(2**16), 2**16, columns) if draw.flag() else None
    mul = draw.between(2**29, 2**30, columns if draw.flag() else 1)
    if draw.size(3) == 1:  # ties
        mul = (mul & -(2**24)).astype(np.int32)
    shift = 28 + draw.size(8)
    op = MatMul(trans_b=True, a_zero=draw.zero(a.dtype.name), requant=requant(draw, shift, "int16"))
    kernel = next(kernel for kernel in KERNELS if kernel.source == source)
    return case(kernel, (op, [a, b, bias, mul]), 0)


def packed_product(seed: int) -> Case | None:
    draw = Draw(seed)
    rows, inner, columns, bits = draw.size(6), 16 * draw.size(5), 3 + draw.size(20), 2 * draw.size(2)
    codes = draw.array("uint8", columns, inner * bits // 8)
    bias = draw.between(-(2**16), 2**16, columns) if draw.flag() else None
    mul = draw.between(2**29, 2**30, columns if draw.flag() else 1)
    if draw.size(3) == 1:  # ties
        mul = (mul & -(2**24)).astype(np.int32)
    op = PackedMatMul(bits, -(2 ** (bits - 1)) * draw.flag(), requant(draw, 24 + draw.size(8), "int16"))
    return case(packed.KERNELS[0], (op, [ends(draw, draw.byte(), rows, inner), codes, bias, mul]), 0)


@pytest.mark.parametrize("cores", CORES)
def test_products_of_packed_weights(cores: int) -> None:
    found = [packed_product(seed) for seed in range(SEEDS)]
    check(share([one for one in found if one is not None], cores), SIRACUSA, cores)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_products_of_16_bits(cores: int) -> None:
    found = [wide_product(source, seed) for source in ("matvec_dots.c", "matmul_dots.c") for seed in range(SEEDS)]
    check(share([one for one in found if one is not None], cores), SIRACUSA, cores)


# ---- by high words --------------------------------------------------------------------------------------------------


def by_word(found: HighWord, x: Array) -> Array:
    """As tw_by_high_word() does it."""
    product = (x.astype(np.int64) << found.up) * found.mul
    total = (product >> 32) + found.add
    value = total >> found.shift
    is_tie = (product & 0xFFFFFFFF == 0) & (total & ((1 << found.shift) - 1) == 0)
    odd = cast(int, found.params()["odd"])
    value -= np.where(is_tie, 0 if odd > 1 else (value ^ odd) & 1, 0)
    return np.clip(value, found.requant.low, found.requant.high)


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(40))
def test_high_words_are_exact(seed: int) -> None:
    draw = Draw(seed)
    mul, dtype = int(draw.between(2**20, 2**30)) >> 10 + draw.size(9) << draw.size(10), kind(draw)
    kept = requant(draw, draw.size(50), dtype)
    found = high_word(kept, mul, 2**16)
    if found is None:
        assert kept.shift + 31 - mul.bit_length() + 15 < 33 or kept.shift > 40
        return
    x = np.arange(-(2**16), 2**16 + 1)
    assert np.array_equal(by_word(found, x), kept(x, np.asarray(mul)))


@pytest.mark.fast
def test_high_words_refuse_odd_ranges() -> None:
    kept = full_range(40, "int8")
    assert high_word(kept, 2**20, 2**16) is not None
    assert high_word(replace(kept, high=100), 2**20, 2**16) is None
    assert high_word(kept, 2**20, 2**32) is None
    assert high_word(replace(kept, rounding="half_away"), 2**20, 2**16) is None
