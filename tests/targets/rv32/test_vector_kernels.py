"""The same kernels by vectors of integers (Zve32x), equal to numpy to the bit; and what that saves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tests.targets.rv32.test_kernels import KINDS, conv, product, requant, some_bytes
from tilewright.ir.requant import full_range
from tilewright.ops.conv import Conv
from tilewright.target.settings import Settings

VECTORS = Settings(isa="rv32imc_zve32x", memories=(("ram", 4 << 20),))
SPANS = (
    *((1, 70, 1, 1), (40, 5, 1, 1), (9, 5, 2, 1), (7, 65, 1, 2)),
    *((33, 16, 1, 1), (5, 37, 1, 1), (3, 129, 2, 1), (12, 1, 1, 1)),
)
"""Height and width of an image, stride and dilation: rows longer than the lanes of totals, and many short ones."""


def image(random: Generator, kind: str, span: tuple[int, int, int, int], groups: int, channels: int) -> Case:
    """Padded so that a window of 3 x 3 keeps the size, or halves it; weights are as small as they may be."""
    height, width, stride, dilation = span
    x = some_bytes(random, "uint8" if kind in ("half_up", "single") else "int8", 1, groups * channels, height, width)
    w = some_bytes(random, "int8", 6 if groups == 1 else 2 * groups, channels, 3, 3)
    w[0] = -128
    op = Conv((stride,) * 2, (dilation,) * 2, (dilation,) * 4, groups, int(random.integers(-2, 3)) % 3, 0)
    bias = random.integers(-5000, 5000, len(w)).astype(np.int32)
    if kind == "none":
        return op, [x, w, bias]
    scaling, mul, add = requant(random, len(w), kind, {"half_away": "uint8"}.get(kind, "int8"))
    return replace(op, requant=scaling), [x, w, bias, mul, add]


@pytest.mark.in_turns(8)
def test_convolutions() -> None:
    random = default_rng(11)
    cases = [conv(random, kind) for kind in KINDS * 4]
    cases += [image(random, kind, span, 1, 3) for kind, span in zip(KINDS, SPANS, strict=False)]
    compiled, _ = run_on_board(cases, VECTORS)
    assert set(kernels(compiled)) == {"conv_blocked"}


@pytest.mark.in_turns(8)
def test_depthwise_convolutions() -> None:
    random = default_rng(17)
    cases = [conv(random, kind, depthwise=True) for kind in KINDS * 3]
    cases += [image(random, kind, span, 6, 1) for kind, span in zip(KINDS, SPANS, strict=False)]
    compiled, _ = run_on_board(cases, VECTORS)
    assert set(kernels(compiled)) == {"depthwise_rows"}


@pytest.mark.in_turns(8)
def test_products_and_ties() -> None:
    random = default_rng(13)
    cases = [product(random, kind) for kind in KINDS * 2]
    values = np.tile(np.array([[-128, 127, -1, 0, 1, 64, -64, 2]], np.int8), 5)
    weights = np.array([[n] for n in (1, -1, 3, 127)], np.int8)
    bias = np.array([0, -4, (1 << 29) - 7, -(1 << 29)], np.int32)
    for rounding in ("half_even", "half_up", "half_away"):
        op = Conv((1,), (1,), (0, 0), requant=full_range(35, "int8", 3, rounding))
        cases.append((op, [values[:, None], weights[:, :, None], bias, np.array([1 << 29], np.int32)]))
    run_on_board(cases, VECTORS)


@pytest.mark.in_turns(6)
def test_a_quarter_of_the_instructions_is_left_at_most() -> None:
    random = default_rng(2)
    dense = image(random, "double", (24, 24, 1, 1), 1, 8)
    depthwise = image(random, "double", (24, 24, 1, 1), 6, 1)
    for case in (dense, depthwise):
        taken = [
            run_on_board([case], settings)[1].instructions for settings in (replace(VECTORS, isa="rv32imc"), VECTORS)
        ]
        assert taken[1] <= taken[0] / 4
