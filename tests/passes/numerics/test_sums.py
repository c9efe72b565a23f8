"""Sums of two tensors by factors of a byte: all pairs of bytes are counted, and the cores' kernel takes them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.tflite_draws import scaled_add
from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import Draw
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits, type_of
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.passes.numerics.sums import native_sum
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.pulp.sum_dots import KERNELS, Dots, dots_of

TYPES = [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]


def drawn(seed: int, a: str, b: str) -> QLinearAdd:
    """A sum whose results are around their zero point, for the most part."""
    random = np.random.default_rng(seed)
    zero = int(random.integers(-128, 128))
    mul_a, mul_b = (int(value) for value in random.integers(2**19, 2**22, 2))
    low = zero if random.random() < 0.3 else -128
    offset = -sum(mul * (sum(limits(dtype)) // 2) for mul, dtype in ((mul_a, a), (mul_b, b)))
    offset += int(random.integers(-(2**25), 2**25))
    return QLinearAdd(mul_a, mul_b, offset, Requant(21, "int8", low, 127, zero, "half_even"))


def all_bytes(dtype: str) -> Array:
    low, high = limits(dtype)
    return np.arange(low, high + 1).astype(dtype)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("seed", range(12))
def test_every_pair_is_counted(seed: int) -> None:
    a, b = TYPES[seed % len(TYPES)]
    op = drawn(seed, a, b)
    found = native_sum(op, a, b)
    assert found is not None
    x, y = np.meshgrid(all_bytes(a), all_bytes(b), indexing="ij")
    exact, ours = op.numpy(x, y).astype(int), found.op.numpy(x, y).astype(int)
    inside = (exact > op.requant.low) & (exact < op.requant.high)
    assert np.abs(ours - exact).max() <= 1
    assert found.share == pytest.approx(float(((ours != exact) & inside).sum()) / float(inside.sum()))
    assert isinstance(dots_of(found.op, a, b), Dots)


@pytest.mark.in_turns(3)
def test_sums_of_tensorflow_lite() -> None:
    close = 0
    for seed in range(12):
        op, (left, right) = scaled_add(Draw(seed))
        assert left is not None
        assert right is not None
        found = native_sum(op, left.dtype.name, right.dtype.name)
        close += found is not None and found.share < 0.02
    assert close >= 9


@pytest.mark.in_turns(5)
def test_the_cores_agree() -> None:
    (kernel,) = KERNELS
    cases = []
    for seed in range(16):
        a, b = TYPES[seed % len(TYPES)]
        found = native_sum(drawn(seed, a, b), a, b)
        assert found is not None
        draw = Draw(seed)
        shape = (draw.size(5), 1 + draw.size(90))
        arrays = [draw.array(dtype, *shape) for dtype in (a, b)]
        types = {"A": type_of(arrays[0]), "B": type_of(arrays[1])}
        types["Y"] = found.op.infer(types)[0]
        assert kernel.unsupported_reason(found.op, types) is None
        cases.append(Case(kernel, found.op, arrays))
    check(cases, SIRACUSA, 8)
