"""Functions and products of quantised tensors on microcontrollers, and bytes from floats, equal to numpy to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.attention_cases import qlinearattention
from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_on_board
from tests.targets.rv32.test_kernels import KINDS, requant, some_bytes
from tilewright.ir.requant import full_range
from tilewright.ir.types import limits
from tilewright.ops._scaling import Scaling
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.target.settings import Settings

pytestmark = pytest.mark.in_turns(8)

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


@pytest.mark.in_turns(10)
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


def norm(random: Generator, x_type: str, y_type: str) -> Case:
    """Rows of one element, of equal ones and of any others; factors that make ties."""
    rows, length = int(random.integers(1, 5)), int(random.choice([1, 2, 3, 7, 16, 40, 96, 130]))
    x = some_bytes(random, x_type, rows, length)
    x[0] = 100 if random.integers(3) == 0 else x[0]
    x = (x >> int(random.integers(0, 7))) if random.integers(2) else x
    mul, add = (random.integers(-(2**30), 2**30, (1, length)).astype(np.int32) for _ in range(2))
    if random.integers(3) == 0:
        mul, add = (np.full((1, length), 1 << 25, np.int32), add >> 26 << 26)
    small = limits(y_type)[1] < 1 << 8
    fraction = 2 * int(random.integers(0, 5)) if limits(x_type)[1] < 1 << 8 else 0
    requant = full_range(45 if small else 36, y_type, int(random.integers(0, 9)), ("half_even", "half_up")[length % 2])
    centred, epsilon = bool(random.integers(4)), int(random.choice([0, 99, 12345]))
    lift = int(random.choice([15, 20]))
    return QLinearRowNorm(1, centred, int(random.integers(0, 6)), epsilon, fraction, lift, requant), [x, mul, add]


@pytest.mark.parametrize("target", TARGETS)
def test_norms(target: str) -> None:
    random = default_rng(44)
    types = (("int8", "int8"), ("uint8", "uint8"), ("int16", "int8"), ("int8", "int16"))
    assert run([norm(random, *pair) for pair in types * 12], target) == {"qlinearrownorm_words"}


def attention(random: Generator, far: bool) -> Case:
    """Of bytes; scores and results by the upper word of a product, or by all of it."""
    while True:
        op, (q, k, v, *rest) = qlinearattention(random)
        assert isinstance(op, QLinearAttention)
        assert q is not None
        assert k is not None
        if q.dtype.itemsize == k.dtype.itemsize == 1:
            break
    if far:
        score, mix = (replace(scaling.requant, shift=scaling.requant.shift + 19) for scaling in (op.score, op.mix))
        mul = int(random.choice([1 << 24, (1 << 26) + 1]))
        op = replace(op, score=Scaling(mul, 0, score), mix=Scaling(mul, 0, replace(mix, rounding="half_even")))
    if random.integers(2):
        # Longer than a few words.
        q, k, v = (np.concatenate([part] * 4, -1) for part in (q, k, v) if part is not None)
    return op, [q, k, v, *rest]


@pytest.mark.in_turns(8)
@pytest.mark.parametrize(
    ("target", "kernel"),
    [
        ("cortex-m4", "qlinearattention_pairs"), ("cortex-m0plus", "qlinearattention_bytes"),
        ("rv32", "qlinearattention_bytes"),
    ],
)  # fmt: skip
def test_attention(target: str, kernel: str) -> None:
    random = default_rng(45)
    assert run([attention(random, number % 2 == 0) for number in range(40)], target) == {kernel}


def near_ties(random: Generator, scale: float) -> np.ndarray:
    """Of quotients, one float to either side of them; zeros, infinities, what is no number, and any others."""
    ties = ((random.integers(-300, 300, 400) + 0.5) * np.float32(scale)).astype(np.float32)
    aside = np.nextafter(ties, random.choice([-np.inf, np.inf], ties.shape).astype(np.float32))
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-45, 3e-39], np.float32)
    return np.concatenate([ties, aside, special, random.normal(0, 90 * scale, 500).astype(np.float32)])


@pytest.mark.parametrize(
    ("target", "kernel"),
    [
        ("cortex-m4", "quantizelinear_bytes"), ("cortex-m7", "quantizelinear_bytes"),
        ("cortex-m0plus", "quantizelinear_integers"), ("rv32", "quantizelinear_integers"),
    ],
)  # fmt: skip
def test_floats_to_bytes(target: str, kernel: str) -> None:
    random, cases = default_rng(43), list[Case]()
    for dtype, zero in (("int8", 0), ("int8", -128), ("uint8", 255), ("uint8", 7)):
        for scale in (0.0123, 1.0, 3e-31, 7.7e20):
            x = near_ties(random, scale)
            cases.append((QuantizeLinear(0), [x, np.float32(scale), np.array(zero, dtype)]))
    channels = np.stack([near_ties(random, scale) for scale in (0.5, 0.031)])
    scales = np.array([0.5, 0.031], np.float32)
    cases.append((QuantizeLinear(0), [channels, scales, np.array([3, -9], np.int8)]))
    assert run(cases, target) == {kernel}
