"""Depthwise convolutions of bytes with any window, and layers of bytes with 16-bit results: equal to numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tests.targets.rv32.test_kernels import KINDS, conv, requant, some_bytes
from tilewright.ir.requant import full_range
from tilewright.ops._windows import reach
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.settings import Settings
from tilewright.targets.cortex_m.depthwise_taps import row_words

pytestmark = pytest.mark.in_turns(8)

WINDOWS = ((5, 5), (7, 7), (5, 5), (1, 5), (7, 1), (4, 6), (2, 8), (1, 9), (9, 9), (3, 11), (1, 31), (6, 2))


def run(cases: Sequence[Case], target: str = "cortex-m4") -> set[str]:
    compiled, _ = run_on_board(cases, Settings(), target=target)
    return set(kernels(compiled))


def depthwise(random: Generator, kind: str, kernel: tuple[int, int]) -> Case:
    """Strides up to 3, columns apart, more than one filter for a channel, images smaller than windows, several samples,
    padding as large as windows."""
    dtype = {"none": "int32", "half_away": "uint8"}.get(kind, "int8")
    x_type = "uint8" if kind in ("half_up", "single") else "int8"
    dilations = tuple(int(n) for n in (random.integers(1, 3, 2) if random.integers(4) == 0 else (1, 1)))
    strides = tuple(int(n) for n in random.choice([1, 1, 2, 2, 3], 2))
    spans = [reach(size, apart) for size, apart in zip(kernel, dilations, strict=True)]
    sizes = [int(random.choice([1, 2, 3, 4, 5, 6, 7, 9, 14])) for _ in spans]
    pads = [
        int(random.integers(max(0, span - size + 1) // 2, span + 1)) for span, size in zip(spans, sizes, strict=True)
    ]
    ends = [
        int(random.integers(max(0, span - size - pad), span + 1))
        for span, size, pad in zip(spans, sizes, pads, strict=True)
    ]
    groups, filters = int(random.integers(2, 6)), int(random.choice([1, 1, 1, 2]))
    x = some_bytes(random, x_type, int(random.integers(1, 3)), groups, *sizes)
    w = some_bytes(random, "int8", groups * filters, 1, *kernel)
    bias = random.integers(-5000, 5000, groups * filters).astype(np.int32)
    op = Conv(strides, dilations, (*pads, *ends), groups, int(random.integers(0, 6)), 0)
    if kind == "none":
        return op, [x, w, bias]
    scaling, mul, add = requant(random, groups * filters, kind, dtype)
    return replace(op, requant=scaling), [x, w, bias, mul, add]


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m7"])
def test_windows_of_any_size(target: str) -> None:
    random = default_rng(31)
    cases = [depthwise(random, KINDS[number % len(KINDS)], WINDOWS[number % len(WINDOWS)]) for number in range(72)]
    assert run(cases, target) == {"depthwise_taps"}


def test_images_in_parts() -> None:
    """Larger than what is copied at a time."""
    random, cases = default_rng(32), list[Case]()
    for side, kernel, stride in ((40, 5, 1), (50, 7, 2), (33, 9, 1), (600, 3, 1)):
        x = some_bytes(random, "int8", 1, 2, side if side < 100 else 3, side)
        w = some_bytes(random, "int8", 2, 1, kernel, kernel)
        scaling, mul, add = requant(random, 2, "half_even", "int8")
        op = Conv((stride, 1), padding=(kernel // 2,) * 4, groups=2, x_zero=-5, requant=scaling)
        cases.append((op, [x, w, np.zeros(2, np.int32), mul, add]))
    assert run(cases) == {"depthwise_taps"}


def to_halves(random: Generator, case: Case) -> Case:
    """The same layer, whose results have 16 bits."""
    op, (x, w, bias, *_) = case
    assert isinstance(op, Conv | MatMul)
    assert x is not None
    assert bias is not None
    filters = len(bias)
    mul = random.integers(1 << 27, 1 << 30, filters).astype(np.int32) | 1
    shift = int(random.integers(25, 36))
    scaling = full_range(shift, "int16", int(random.integers(-9000, 9000)), ("half_even", "half_up")[shift % 2])
    return replace(op, requant=scaling), [x, w, bias, mul, None]


def test_results_of_16_bits() -> None:
    random = default_rng(33)
    assert run([to_halves(random, conv(random, "half_even")) for _ in range(30)]) == {"conv_pairs", "conv_pairs_apart"}
    layers = [to_halves(random, depthwise(random, "half_even", WINDOWS[number % len(WINDOWS)])) for number in range(24)]
    assert run(layers) == {"depthwise_taps"}


def test_columns_far_apart_are_left_to_the_kernel_for_all() -> None:
    random = default_rng(34)
    scaling, mul, add = requant(random, 2, "half_even", "int8")
    x, w = some_bytes(random, "int8", 1, 2, 3, 100), some_bytes(random, "int8", 2, 1, 3, 3)
    op = Conv(dilations=(1, 40), padding=(1, 41, 1, 41), groups=2, x_zero=-5, requant=scaling)
    assert run([(op, [x, w, np.zeros(2, np.int32), mul, add])]) == {"depthwise_rows"}


def test_rows_have_room_for_one_weight_more() -> None:
    assert [row_words(wide) for wide in (1, 2, 3, 4, 5, 7, 8, 9, 11, 31)] == [1, 2, 2, 3, 3, 4, 6, 6, 6, 16]
