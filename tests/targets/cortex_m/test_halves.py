"""Layers of 16-bit elements with weights of 8 bits on Cortex-M, in every rounding, equal to numpy to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.emulator.test_qemu import needs_qemu
from tests.support.checks import Case
from tests.targets.cortex_m.test_vectors import channels_last, depthwise
from tests.targets.rv32.machine import LARGE, kernels, run_on_board
from tests.targets.rv32.test_kernels import conv, product, some_bytes
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.settings import Settings

KINDS = ("single", "half_even", "half_up", "dialect", "float", "double", "none")


def to_halves(random: Generator, filters: int, kind: str, is_relu: bool) -> tuple[Requant, Array, Array | None]:
    """A requantisation of totals of some millions to 16 bits."""
    if kind in ("single", "double"):
        mul = (random.integers(1 << 14, 1 << 15, filters) << 16).astype(np.int32)
        found: tuple[Requant, Array, Array | None] = (
            full_range(0, "int16", 0, kind), mul, random.integers(-9, -1, filters).astype(np.int32),
        )  # fmt: skip
    elif kind == "float":
        mul = (2.0 ** random.uniform(-9, -3, filters)).astype(np.float32).view(np.int32)
        found = full_range(0, "int16", 0, kind), mul, None
    elif kind == "dialect":
        mul, add = (random.integers(1, 1 << 12, filters).astype(np.int32) for _ in range(2))
        found = full_range(20, "int16"), mul, add
    else:
        mul = (1 << random.integers(24, 30, filters)).astype(np.int32) + random.integers(0, 2, filters).astype(np.int32)
        found = full_range(int(random.integers(34, 37)), "int16", int(random.integers(-300, 300)), kind), mul, None
    return (replace(found[0], low=0), *found[1:]) if is_relu else found


def wide(random: Generator, case: Case, kind: str) -> Case:
    """The same layer of 16-bit elements, some of which leave 32 bits in their sums."""
    op, (x, w, bias, *_) = case
    assert isinstance(op, Conv | MatMul)
    assert x is not None
    assert w is not None
    w = random.integers(-128, 128, w.shape).astype(np.int8)
    op = replace(op, w_zero=0) if isinstance(op, Conv) else op
    halves = some_bytes(random, "int16", *x.shape)
    if kind == "none":
        return replace(op, requant=None), [halves, w, bias]
    filters = len(bias) if bias is not None else 1
    requant, mul, add = to_halves(random, filters, kind, bool(random.integers(2)))
    return replace(op, requant=requant), [halves, w, bias, mul, add]


def run(cases: Sequence[Case], target: str = "cortex-m4") -> set[str]:
    compiled, _ = run_on_board(cases, Settings(), target=target)
    return set(kernels(compiled))


@pytest.mark.in_turns(3)
def test_convolutions() -> None:
    random = default_rng(21)
    cases = [wide(random, conv(random, "single"), kind) for kind in KINDS * 5]
    assert run(cases) == {"conv_pairs_apart"}


@pytest.mark.in_turns(3)
def test_products() -> None:
    random = default_rng(22)
    cases = [wide(random, product(random, "single"), kind) for kind in KINDS * 3]
    assert run(cases) == {"matmul_pairs", "matmul_pairs_apart", "conv_pairs_apart"}


@pytest.mark.in_turns(3)
def test_depthwise_convolutions() -> None:
    random = default_rng(23)
    cases = [wide(random, conv(random, "single", depthwise=True), kind) for kind in KINDS * 6]
    assert run(cases) == {"depthwise_halves"}


def apart(case: Case, distance: int) -> Case:
    """The same layer on columns so far from each other."""
    op, arrays = case
    assert isinstance(op, Conv)
    far = replace(op, dilations=(1, distance), padding=(0, 2 * distance + 1, 0, distance))
    return far, arrays


@pytest.mark.in_turns(5)
def test_columns_apart() -> None:
    random = default_rng(27)
    layers = [wide(random, conv(random, "single", depthwise=True), kind) for kind in ("single", "half_up", "none")]
    near = [apart(layer, distance) for layer, distance in zip(layers, (2, 3, 5), strict=True)]
    assert run(near) == {"depthwise_halves"}
    assert run([apart(layer, 40) for layer in layers[:1]]) == {"conv_plain"}


@pytest.mark.in_turns(3)
def test_channels_come_second() -> None:
    random = default_rng(28)
    requant, mul, add = to_halves(random, 8, "single", True)
    x, w = some_bytes(random, "int16", 1, 8, 8, 8), random.integers(-128, 128, (8, 3, 3, 8)).astype(np.int8)
    op = Conv((1, 1), (1, 1), (1, 1, 1, 1), channels_last=True, requant=requant)
    assert "conv_pairs_apart" in run([(op, [x, w, np.zeros(8, np.int32), mul, add])])


def on_vectors(cases: Sequence[Case]) -> set[str]:
    compiled, _ = run_on_board(cases, LARGE, target="cortex-m55")
    return set(kernels(compiled))


@pytest.mark.in_turns(3)
@needs_qemu
def test_convolutions_on_vectors() -> None:
    random = default_rng(24)
    cases = [channels_last(wide(random, conv(random, "single"), kind)) for kind in KINDS * 3]
    assert on_vectors(cases) == {"conv_mve"}


@pytest.mark.in_turns(3)
@needs_qemu
def test_depthwise_convolutions_on_vectors() -> None:
    random = default_rng(25)
    cases = [wide(random, depthwise(random, "single", size), kind) for kind in KINDS for size in (3, 8, 20)]
    assert on_vectors(cases) == {"depthwise_mve"}


@needs_qemu
def test_products_on_vectors() -> None:
    random = default_rng(26)
    assert on_vectors([wide(random, product(random, "single"), kind) for kind in KINDS * 2]) == {"conv_mve"}
