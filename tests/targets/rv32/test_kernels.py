"""Kernels of the microcontroller: convolutions and products of bytes in every rounding, equal to numpy to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.block_cases import product as block_product
from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tilewright import targets
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, limits
from tilewright.ops._scaling import Scaling
from tilewright.ops._windows import reach
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.pow import Pow
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.run.kernel_bench import Case as BenchCase
from tilewright.run.kernel_bench import check
from tilewright.targets.microcontroller import elementwise

pytestmark = pytest.mark.in_turns(8)

TFLITE = ("double", "double_up", "single", "float")


def some_bytes(random: Generator, dtype: str, *shape: int) -> Array:
    low, high = limits(dtype)
    return random.integers(low, high, shape, dtype, endpoint=True)


def requant(random: Generator, filters: int, kind: str, dtype: str) -> tuple[Requant, Array, Array | None]:
    """A requantisation of totals of some thousands, with factors and what is added to their products."""
    count = int(random.choice([1, filters]))
    zero = int(random.integers(-20, 20)) if dtype != "uint8" else int(random.integers(0, 40))
    if kind in TFLITE:
        mul = random.integers(1 << 30, 2**31 - 1, count).astype(np.int32)
        exponents = random.integers(-9, 2 if random.integers(3) == 0 else -3, count).astype(np.int32)
        if kind == "float":
            mul = (2.0 ** random.uniform(-9, -3, count)).astype(np.float32).view(np.int32)
        return full_range(0, dtype, zero, kind), mul, exponents
    if kind == "native":
        mul = random.integers(1, 1 << 8, count).astype(np.int32)
        return full_range(12, dtype, zero, "native"), mul, random.integers(-(1 << 20), 1 << 20, count).astype(np.int32)
    if kind == "dialect":
        mul = random.integers(1, 1 << 12, count).astype(np.int32)
        return full_range(16, dtype, zero), mul, random.integers(-(1 << 20), 1 << 20, count).astype(np.int32)
    # Powers of two make ties.
    mul = (1 << random.integers(20, 30, count)).astype(np.int32) + random.integers(0, 2, count).astype(np.int32)
    return full_range(int(random.integers(33, 38)), dtype, zero, kind), mul, None


KINDS = ("half_even", "half_up", "half_away", "native", "dialect", *TFLITE, "none")


def conv(random: Generator, kind: str, depthwise: bool = False) -> Case:
    # Each combination of types is compiled anew, which takes longer than to run it.
    dtype = {"none": "int32", "half_away": "uint8"}.get(kind, "int8")
    x_type, w_type = "uint8" if kind in ("half_up", "single") else "int8", "uint8" if kind == "dialect" else "int8"
    kernel, strides = random.integers(1, 5, 2), random.integers(1, 3, 2)
    if random.integers(2):
        kernel[:], strides[1] = 3, random.integers(1, 3)
    flat = not depthwise and random.integers(3) == 0
    padding = (0,) * 4 if flat else tuple(int(n) for n in random.integers(0, 3, 4))
    if flat:
        kernel[:], strides[:] = 1, 1
    dilations = (1, 1) if random.integers(3) else (2, 1)
    room = [reach(int(k), d) for k, d in zip(kernel, dilations, strict=True)]
    size = [max(need, 1) + int(more) for need, more in zip(room, random.integers(0, 11, 2), strict=True)]
    groups = int(random.integers(2, 5)) if depthwise or random.integers(4) == 0 else 1
    channels, filters = 1 if depthwise else int(random.integers(2, 10)), int(random.integers(1, 10))
    x = some_bytes(random, x_type, int(random.integers(1, 3)), groups * channels, *size)
    w = some_bytes(random, w_type, groups * filters, channels, *map(int, kernel))
    bias = random.integers(-5000, 5000, groups * filters).astype(np.int32)
    w_zero = 128 if w_type == "uint8" else 0
    x_zero = int(random.integers(0, 4)) - 2 * (x_type == "int8")
    op = Conv(tuple(map(int, strides)), dilations, padding, groups, x_zero, w_zero)
    if kind == "none":
        return op, [x, w, bias]
    scaling, mul, add = requant(random, groups * filters, kind, dtype)
    return replace(op, requant=scaling), [x, w, bias, mul, add]


def product(random: Generator, kind: str) -> Case:
    rows, inner, columns = (int(n) for n in random.integers(1, 20, 3))
    a = some_bytes(
        random, "uint8" if kind == "half_up" else "int8", *((rows, inner) if rows < 15 else (2, rows, inner))
    )
    transposed = bool(random.integers(2))
    b = some_bytes(random, "int8", *((columns, inner) if transposed else (inner, columns)))
    op = MatMul(trans_b=transposed, a_zero=int(random.integers(-3, 4)), b_zero=0)
    bias = random.integers(-5000, 5000, columns).astype(np.int32)
    if kind == "none":
        return op, [a, b, bias]
    scaling, mul, add = requant(random, columns, kind, "int8")
    return replace(op, requant=scaling), [a, b, bias, mul, add]


@pytest.mark.in_turns(8)
def test_convolutions() -> None:
    random = default_rng(1)
    compiled, _ = run_on_board([conv(random, kind) for kind in KINDS * 5])
    assert set(kernels(compiled)) == {"conv_blocked"}


def test_depthwise_convolutions() -> None:
    random = default_rng(7)
    compiled, _ = run_on_board([conv(random, kind, depthwise=True) for kind in KINDS * 4])
    assert set(kernels(compiled)) == {"depthwise_rows"}


def test_products() -> None:
    random = default_rng(3)
    compiled, _ = run_on_board([product(random, kind) for kind in KINDS * 3])
    assert set(kernels(compiled)) == {"matmul_blocked"}


def computed_product(random: Generator, kind: str) -> Case:
    """Both operands are computed; a batch of them, in one or the other order of axes."""
    batch, rows, inner, columns = (int(n) for n in random.integers(1, 10, 4))
    trans_a, trans_b = bool(random.integers(2)), bool(random.integers(2))
    x_type = "uint8" if kind == "half_up" else "int8"
    a = some_bytes(random, x_type, batch, *((inner, rows) if trans_a else (rows, inner)))
    b = some_bytes(random, "int8", batch, *((columns, inner) if trans_b else (inner, columns)))
    op = MatMul(trans_a, trans_b, a_zero=int(random.integers(-3, 4)), b_zero=int(random.integers(-3, 4)))
    bias = random.integers(-5000, 5000, [(columns,), (rows, 1), (1,)][int(random.integers(3))]).astype(np.int32)
    if kind == "none":
        return op, [a, b, bias]
    scaling, mul, add = requant(random, columns, kind, "int8")
    return replace(op, requant=scaling), [a, b, bias, mul, add]


def test_products_of_what_is_computed() -> None:
    random = default_rng(5)
    wide = (MatMul(), [some_bytes(random, "int8", 5, 700), some_bytes(random, "int8", 700, 30)])
    compiled, _ = run_on_board([*(computed_product(random, kind) for kind in KINDS * 3), wide], inputs=2)
    assert set(kernels(compiled)) == {"matmul_panels"}


def test_sums_of_requantised_bytes() -> None:
    random, cases = default_rng(6), list[Case]()
    for size in (40, 700):
        for shift, rounding in ((16, "half_up"), (34, "half_even"), (20, "half_even"), (36, "half_up")):
            mul = random.integers(1, 1 << (shift - 8), 3)
            first, second = (Scaling(int(mul[n]), 40 * n, full_range(shift - 4, "int16")) for n in range(2))
            out = Scaling(int(mul[2]), 0 if shift > 32 else 77, full_range(shift, "int8", -5, rounding))
            cases.append((RequantizedAdd(first, second, out), [some_bytes(random, "int8", size) for _ in range(2)]))
    cases.append((cases[-1][0], [some_bytes(random, "int8", 9, 80), some_bytes(random, "int8", 1, 80)]))
    compiled, _ = run_on_board(cases, inputs=2)
    assert set(kernels(compiled)) == {"requantizedadd_bytes"}


def test_requantisations() -> None:
    random, cases = default_rng(8), list[Case]()
    for shift, rounding in ((1, "half_up"), (16, "half_up"), (31, "half_up"), (12, "half_even"), (0, "half_up")):
        for channels in (1, 6):
            x = random.integers(-(2**31), 2**31, (2, 6, 5), np.int32) >> int(random.integers(0, 20))
            mul = random.integers(-(1 << 20), 1 << 20, channels).astype(np.int32)
            add = random.integers(-(1 << 30), 1 << 30, channels).astype(np.int32)
            cases.append(
                (RequantShift(full_range(shift, "int8", 0, rounding), 1 if channels > 1 else -1), [x, mul, add])
            )
    compiled, _ = run_on_board(cases)
    assert set(kernels(compiled)) == {"requantshift_rows"}


def test_powers_of_integers_to_floats() -> None:
    """A power that is a rounding step too small must not lose a whole one."""
    bases = np.asarray([[0], [1], [2], [3], [4], [9], [16], [81], [-3]])
    powers = np.asarray([0, 1, 3, 4, 5, 11, 30, 0.5, 0.25, 0.75, 1.5, -1], np.float32)
    run_on_board([(Pow(), [bases, powers]), (Pow(), [bases.astype(np.int32), powers])], inputs=2)


def test_pools_of_bytes() -> None:
    random, cases = default_rng(9), list[Case]()
    for kernel, strides, dilations, padding in (
        ((2, 2), (2, 2), (1, 1), (0, 0, 0, 0)),
        ((3, 3), (2, 1), (1, 1), (1, 1, 1, 1)),
        ((3, 2), (1, 2), (2, 1), (2, 0, 1, 1)),
    ):
        cases.append((MaxPool(strides, dilations, padding, kernel=kernel), [some_bytes(random, "int8", 2, 3, 9, 8)]))
    compiled, _ = run_on_board(cases)
    assert set(kernels(compiled)) == {"maxpool_windows"}


def test_sums_of_bytes() -> None:
    kernel = next(kernel for kernel in elementwise.KERNELS if kernel.op is TfliteAdd)
    random, cases = default_rng(4), list[BenchCase]()
    for size in (40, 700):
        for rounding, exponent in (("double", -2), ("double", 0), ("double_up", -1), ("single", -3)):
            zeros, mul = random.integers(-9, 9, 3), random.integers(1 << 30, 2**31, 3)
            first, second = (Summand(int(zeros[n]), int(mul[n]), -2 * n) for n in range(2))
            scaling = full_range(0, "int8", int(zeros[2]), rounding)
            op = TfliteAdd(20, first, second, int(mul[2]), exponent - 15, scaling)
            cases.append(BenchCase(kernel, op, [some_bytes(random, "int8", size), some_bytes(random, "int8", size)]))
    check(cases, targets.find("rv32"), cores=1)


def test_ties_of_wide_totals() -> None:
    """Totals near 2**30, and halves of either sign in each rounding."""
    values = np.array([[-128, 127, -1, 0, 1, 64, -64, 2]], np.int8)
    weights = np.array([[n] for n in (1, -1, 3, 127)], np.int8)
    bias = np.array([0, -4, (1 << 29) - 7, -(1 << 29)], np.int32)
    cases: list[Case] = []
    for rounding in ("half_even", "half_up", "half_away"):
        op = Conv((1,), (1,), (0, 0), requant=full_range(35, "int8", 3, rounding))
        cases.append((op, [values[:, None], weights[:, :, None], bias, np.array([1 << 29], np.int32)]))
    run_on_board(cases)


def extreme_product(level: int, sign: float) -> Case:
    """All weights have the level, and all of a row the largest byte: sums are as large as they may be."""
    op, (x, w, _) = block_product(default_rng(5), "Q4_0", 1, 64, 2)
    assert w is not None
    w = w.reshape(2, 2, 18).copy()
    w[:, :, 2:] = level * 0x11
    return op, [np.full_like(x, sign), w.reshape(2, -1), None]


def test_products_with_weights_in_blocks() -> None:
    random = default_rng(4)
    cases = [block_product(random, name, 2, 96, 5) for name in ("Q4_0", "Q8_0", "Q4_1")]
    cases += [extreme_product(level, sign) for level in (0, 15) for sign in (-1.0, 1.0)]
    found, _ = run_on_board(cases, tolerance=1e-5)
    assert kernels(found) == ["block_matmul_bytes", "block_matmul_bytes", "block_matmul", *["block_matmul_bytes"] * 4]
