"""Functions and products of quantised tensors on microcontrollers, and bytes from floats, equal to numpy to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tests.targets.rv32.test_kernels import KINDS, requant, some_bytes
from tilewright.ir.requant import full_range
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.target.settings import Settings

TARGETS = ("cortex-m4", "cortex-m0plus", "rv32")


def run(cases: list[Case], target: str, inputs: int = 1) -> set[str]:
    compiled, _ = run_on_board(cases, Settings(), inputs, target=target)
    return set(kernels(compiled))


def function(random: Generator, rounding: str, size: int, shift: int) -> Case:
    """Values that leave the range of results, and ties."""
    bits = 16 - size
    table = random.integers(-(1 << 30) >> bits, 1 << 30 >> bits, 2**size + 1)
    table[::2] = (table[::2] >> max(shift - 1 - bits, 0)) << max(shift - 1 - bits, 0)
    x = some_bytes(random, "int16", 5, int(random.integers(1, 60)))
    x[:, ::2] &= -1 << bits
    op = QLinearFunction(full_range(shift, "int8", int(random.integers(-20, 20)), rounding))
    narrow = replace(op, requant=replace(op.requant, low=-7, high=100))
    return narrow if random.integers(3) == 0 else op, [x, table.astype(np.int32)]


@pytest.mark.parametrize("target", TARGETS)
def test_functions(target: str) -> None:
    random = default_rng(41)
    cases = [
        function(random, rounding, size, shift)
        for rounding in ("half_even", "half_up")
        for size in (6, 9, 12, 16)
        for shift in (21, 1, 24)
    ]
    assert run(cases, target) == {"qlinearfunction_words"}
    op, arrays = function(random, "half_even", 8, 21)
    assert isinstance(op, QLinearFunction)
    assert run([(replace(op, requant=full_range(21, "int8", 0, "half_away")), arrays)], target) == {"qlinearfunction"}


def product_of_two(random: Generator, kind: str) -> Case:
    dtype = {"none": "int8", "half_away": "uint8"}.get(kind, "int8")
    rows, length = (int(n) for n in random.integers(1, 20, 2))
    shapes = [
        ((rows, length), (rows, 1)),
        ((rows, length), (rows, length)),
        ((rows, 1), (rows, length)),
        ((length,), ()),
    ]
    first, second = shapes[int(random.integers(len(shapes)))]
    scaling, mul, add = requant(random, 1, "half_even" if kind == "none" else kind, dtype)
    op = QLinearMul(int(random.integers(-9, 9)), int(random.integers(-9, 9)), int(mul[0]), scaling)
    op = op if add is None else replace(op, add=int(add[0]))
    op = op if random.integers(4) else replace(op, requant=replace(op.requant, low=1, high=99))
    return op, [some_bytes(random, "int8", *first), some_bytes(random, "int8", *second)]


@pytest.mark.parametrize("target", TARGETS)
def test_products_of_two(target: str) -> None:
    random = default_rng(42)
    kinds = [kind for kind in KINDS if kind not in ("float", "none")]
    assert run([product_of_two(random, kind) for kind in kinds * 6], target, inputs=2) == {"qlinearmul_rows"}


def near_ties(random: Generator, scale: float) -> np.ndarray:
    """Of quotients, one float to either side of them; zeros, infinities, what is no number, and any others."""
    ties = ((random.integers(-300, 300, 400) + 0.5) * np.float32(scale)).astype(np.float32)
    aside = np.nextafter(ties, random.choice([-np.inf, np.inf], ties.shape).astype(np.float32))
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-45, 3e-39], np.float32)
    return np.concatenate([ties, aside, special, random.normal(0, 90 * scale, 500).astype(np.float32)])


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m7"])
def test_floats_to_bytes(target: str) -> None:
    random, cases = default_rng(43), list[Case]()
    for dtype, zero in (("int8", 0), ("int8", -128), ("uint8", 255), ("uint8", 7)):
        for scale in (0.0123, 1.0, 3e-31, 7.7e20):
            x = near_ties(random, scale)
            cases.append((QuantizeLinear(0), [x, np.float32(scale), np.array(zero, dtype)]))
    channels = np.stack([near_ties(random, scale) for scale in (0.5, 0.031)])
    scales = np.array([0.5, 0.031], np.float32)
    cases.append((QuantizeLinear(0), [channels, scales, np.array([3, -9], np.int8)]))
    assert run(cases, target) == {"quantizelinear_bytes"}
