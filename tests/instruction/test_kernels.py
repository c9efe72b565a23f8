"""Kernels that use declared instructions on the simulated core: equal to numpy to the bit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.instruction.folders import DOT4, POPCOUNT, REQUANT, of_pattern, with_own
from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tests.targets.rv32.test_kernels import KINDS as ROUNDINGS
from tests.targets.rv32.test_kernels import conv, product, some_bytes
from tilewright.instruction.attach import with_instructions
from tilewright.ir.types import TensorType
from tilewright.ops._windows import reach
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.relu import Relu
from tilewright.target.peak import Peak
from tilewright.targets.microcontroller.dots import DOT_KERNELS
from tilewright.targets.rv32.target import TARGET as RV32

pytestmark = pytest.mark.in_turns(6)

KINDS = ("double", "half_up", "none")
"""Signed bytes with TensorFlow Lite's requantisation, unsigned ones, totals."""


def test_convolutions() -> None:
    random = default_rng(1)
    compiled, _ = run_on_board([conv(random, kind) for kind in KINDS * 12], with_own(DOT4))
    assert set(kernels(compiled)) == {"conv_dots"}


def depthwise(random: Generator, kind: str) -> Case:
    """Without dilation: windows have a kernel of their own then."""
    op, arrays = conv(random, kind, depthwise=True)
    assert isinstance(op, Conv)
    return replace(op, dilations=(1, 1)), arrays


def test_depthwise_convolutions() -> None:
    random = default_rng(7)
    compiled, _ = run_on_board([depthwise(random, kind) for kind in KINDS * 12], with_own(DOT4))
    found = Counter(kernels(compiled))
    assert found["depthwise_dots"] > 12
    assert found.keys() == {"depthwise_dots", "depthwise_rows"}


def wide(random: Generator, width: int, stride: int, dtype: str) -> Case:
    """Windows that begin anywhere in a word and end in one of the next."""
    height, channels = int(random.integers(1, 6)), int(random.integers(2, 5))
    size = height + int(random.integers(0, 5)), width + int(random.integers(0, 9))
    padding = (height // 2, int(random.integers(width)), 0, int(random.integers(width)))
    op = Conv((1, stride), (1, 1), padding, channels, int(random.integers(0, 3)), 0)
    weights = some_bytes(random, "int8", 2 * channels, 1, height, width)
    return op, [some_bytes(random, dtype, 2, channels, *size), weights]


@pytest.mark.parametrize("pattern", ["dot4_s8", "dot4_u8s8"])
def test_depthwise_windows_of_any_width(tmp_path: Path, pattern: str) -> None:
    random, dtype = default_rng(41), "int8" if pattern == "dot4_s8" else "uint8"
    cases = [wide(random, width, stride, dtype) for width in range(2, 11) for stride in (1, 2)]
    compiled, _ = run_on_board(cases, with_own(of_pattern(tmp_path, pattern)))
    assert set(kernels(compiled)) == {"depthwise_dots"}


@pytest.mark.parametrize(
    ("op", "window", "why"),
    [
        (Conv(groups=4), (3, 1), "windows are 3 x 1, 1 apart: it takes 2 columns or more, 1 or 2 apart"),
        (Conv((1, 3), groups=4), (3, 3), "windows are 3 x 3, 3 apart: it takes 2 columns or more, 1 or 2 apart"),
        (Conv(dilations=(2, 1), groups=4), (3, 3), "windows have dilations"),
        (Conv(groups=4), (1, 2), None),
    ],
)
def test_depthwise_windows_that_other_kernels_compute(op: Conv, window: tuple[int, int], why: str | None) -> None:
    (kernel,) = (one for one in DOT_KERNELS if one.source == "depthwise_dots.c")
    assert kernel.unsupported_reason(op, {"W": TensorType("int8", (4, 1, *window))}) == why


@pytest.mark.parametrize("beside", [(), (DOT4,)])
def test_products_of_unsigned_bytes(tmp_path: Path, beside: tuple[str, ...]) -> None:
    """The instruction alone multiplies signed bytes too; beside the other one each has its own."""
    random, makers = default_rng(11), (conv, product, depthwise)
    cases = [make(random, kind) for make in makers for kind in KINDS * 5]
    compiled, _ = run_on_board(cases, with_own(of_pattern(tmp_path, "dot4_u8s8"), *beside))
    found = Counter(kernels(compiled))
    assert found.keys() == {"conv_dots", "matmul_dots", "depthwise_dots", "depthwise_rows"}


def of_two_bits(case: Case) -> Case:
    op, (x, weights, *rest) = case
    assert weights is not None
    few = default_rng(weights.size).integers(-2, 2, weights.shape).astype(np.int8)
    if isinstance(op, Conv):
        return replace(op, w_zero=0), [x, few, *rest]
    assert isinstance(op, MatMul)
    return replace(op, b_zero=0), [x, few, *rest]


@pytest.mark.parametrize("beside", [(), (DOT4,)])
def test_weights_of_two_bits(beside: tuple[str, ...]) -> None:
    random, makers = default_rng(13), (conv, product)
    cases = [of_two_bits(make(random, kind)) for make in makers for kind in KINDS * 5]
    compiled, _ = run_on_board(cases, with_own(POPCOUNT, *beside))
    assert set(kernels(compiled)) == {"conv_bits", "matmul_bits"}


def test_shifts_within_limits(tmp_path: Path) -> None:
    """In every rounding, alone and with the instruction that requantises."""
    clip = of_pattern(tmp_path, "shift_clip_s8", 6)
    random = default_rng(17)
    cases = [conv(random, kind, depthwise=bool(number % 2)) for number, kind in enumerate(ROUNDINGS * 2)]
    for places in ((clip,), (clip, REQUANT, DOT4)):
        run_on_board(cases[: 18 // len(places)], with_own(*places))


def pool(random: Generator, dtype: str, has_pairs: bool) -> Case:
    """With any padding and dilation, or by two elements side by side."""
    kernel, strides, dilations = (tuple(map(int, random.integers(1, most, 2))) for most in (4, 3, 3))
    padding = tuple(int(random.integers(size)) for size in (*kernel, *kernel))
    if has_pairs:
        kernel, strides, dilations, padding = (2, 2), (2, 2), (1, 1), (0, 0, 0, 0)
    size = [reach(k, d) + int(random.integers(9)) for k, d in zip(kernel, dilations, strict=True)]
    op = MaxPool(kernel=kernel, strides=strides, dilations=dilations, padding=padding)
    return op, [some_bytes(random, dtype, 2, 3, *size)]


@pytest.mark.parametrize("pattern", ["max4_s8", "max4_u8"])
def test_larger_bytes(tmp_path: Path, pattern: str) -> None:
    """Either instruction takes bytes of both signs."""
    random = default_rng(19)
    cases = [pool(random, dtype, number % 3 == 0) for number in range(9) for dtype in ("int8", "uint8")]
    cases += [(Relu(), [some_bytes(random, "int8", 3, count)]) for count in (7, 8)]
    compiled, _ = run_on_board(cases, with_own(of_pattern(tmp_path, pattern)))
    assert set(kernels(compiled)) == {"maxpool_max4", "relu_max4"}


def test_products() -> None:
    random = default_rng(3)
    compiled, _ = run_on_board([product(random, kind) for kind in KINDS * 4], with_own(DOT4))
    assert set(kernels(compiled)) == {"matmul_dots"}


def test_bounds_know_of_them() -> None:
    """Long sums take fewer cycles than a core without the instruction could at best."""
    types = {name: TensorType(dtype, (1,)) for name, dtype in (("X", "int8"), ("W", "int32"), ("Y", "int8"))}
    for target, rate in ((RV32, 2), (with_instructions(RV32, [DOT4]), 4)):
        (peak,) = (engine.peak for engine in target.engines)
        assert isinstance(peak, Peak)
        assert peak.macs(Conv(), types, 1) == rate


def test_requantisations() -> None:
    """Alone, and with the other one; TensorFlow Lite's of signed bytes are its own."""
    for places in ((REQUANT,), (DOT4, REQUANT)):
        random = default_rng(5)
        cases = [conv(random, "double", depthwise=bool(number % 2)) for number in range(8)]
        plain, _ = run_on_board(cases)
        compiled, _ = run_on_board(cases, with_own(*places))
        assert len(kernels(compiled)) == len(kernels(plain))
