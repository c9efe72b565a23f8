"""Kernels on RISC-V, whose vector registers may have any length: emulated, with the same bits at each of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.block_cases import product
from tests.support.checks import Case
from tests.support.foreign import needs_emulator
from tests.targets.cpu.machine import run_on
from tests.targets.cpu.test_caches import BLOCK, SHAPES, attention, written
from tests.targets.cpu.test_floats import attention_and_curves, cases, computed_operands
from tests.targets.rv32.test_kernels import requant, some_bytes
from tilewright.ir.requant import full_range
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul

WITH_VECTORS, WITH_SHORT = "rv64gcv", "spacemit-x60"
ROUNDING = 2e-5

pytestmark = [needs_emulator(WITH_VECTORS), pytest.mark.in_turns(10)]


@pytest.mark.in_turns(10)
def test_convolutions_and_products(monkeypatch: pytest.MonkeyPatch) -> None:
    used = run_on(cases(default_rng(5)), WITH_VECTORS, monkeypatch, tolerance=ROUNDING)
    assert used == {"conv_panels", "depthwise_channels", "winograd"}


def test_rows_that_fill_no_block_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer has its working memory to itself: what lies behind it is seen."""
    x, weights = (default_rng(7).integers(-128, 128, shape).astype(np.int8) for shape in ((8, 20), (20, 9)))
    op = MatMul(requant=full_range(34, "int8", 1))
    case: Case = (op, [x, weights, None, np.array([123456789], np.int32)])
    assert run_on([case], WITH_VECTORS, monkeypatch) == {"conv_dot"}


def depthwise(random: Generator, kind: str, channels: int, kernel: tuple[int, int], strides: tuple[int, int]) -> Case:
    """Weights of which two products fit 16 bits, and now and then one that is smaller."""
    dilations, pads = (tuple(int(n) for n in random.integers(*ends)) for ends in ((1, 3, 2), (0, 3, 4)))
    size = [int(n) + (k - 1) * d for n, k, d in zip(random.integers(1, 12, 2), kernel, dilations, strict=True)]
    dtype = ("int8", "uint8")[channels % 2]
    x = some_bytes(random, dtype, 2, *size, channels)
    w = np.maximum(some_bytes(random, "int8", channels, *kernel, 1), -127 - (channels == 16)).astype(np.int8)
    scaling, mul, add = requant(random, channels, kind, dtype)
    op = Conv(strides, dilations, pads, channels, 3, channels_last=True, requant=scaling)
    return op, [x, w, random.integers(-5000, 5000, channels).astype(np.int32), mul, add]


def test_depthwise_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """More and fewer channels than registers of any length hold, strides, dilations and padding."""
    random, kinds = default_rng(8), ("half_even", "double", "double_up")
    found = [
        depthwise(random, kinds[n % 3], channels, kernel, strides)
        for n, channels in enumerate((1, 2, 5, 8, 16, 17, 24, 33, 64, 128, 130, 301))
        for kernel in ((3, 3), (2, 5), (1, 1))
        for strides in ((1, 1), (2, 2), (1, 3))
    ]
    assert run_on(found, WITH_VECTORS, monkeypatch) <= {"depthwise_widening", "conv_dot"}


def test_what_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    random = default_rng(6)
    found = [*computed_operands(random), *attention_and_curves(random)]
    used = run_on(found, WITH_VECTORS, monkeypatch, inputs=3, tolerance=ROUNDING)
    assert {"matmul_computed", "attention_panels", "softmax_rows", "transpose_matrix"} <= used


@pytest.mark.parametrize("processor", [WITH_VECTORS, WITH_SHORT])
def test_floats_of_16_bits(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights, scales of blocks, keys and values; some processors have instructions for them."""
    random = default_rng(9)
    products = [product(random, name, rows, 64, 35) for name in ("F16", "Q8_0", "Q4_1") for rows in (1, 8)]
    used = run_on(products, processor, monkeypatch, tolerance=ROUNDING)
    assert used == {"block_f16", "block_q8_0", "block_q4_1"}
    seen = [attention(random, SHAPES[number], "float16") for number in (2, 7)]
    assert run_on(seen, processor, monkeypatch, inputs=4, tolerance=ROUNDING) == {"cached_attention"}
    kept = [written("float16", panel, 5, 61) for panel in (1, BLOCK)]
    assert run_on(kept, processor, monkeypatch, inputs=3) == {"write_cache"}
