"""Attention with tokens first, all cores together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.attention_cases import MAKERS
from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, share
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array
from tilewright.ops._scaling import Scaling
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.pulp.attention import kernels, upper_half

(KERNEL,) = kernels(SIRACUSA.agents.cores)


def case(seed: int) -> Case:
    """A random one, with rows of whole words and types that the kernel takes; many with large factors and shifts."""
    random = np.random.default_rng(seed)
    op, arrays = MAKERS["QLinearAttention"](random)
    assert isinstance(op, QLinearAttention)
    q, k, v, *others = (array for array in arrays if array is not None)
    length, width = (4 * int(random.integers(1, 5)) for _ in range(2))
    keys = "int16" if random.integers(0, 2) else "int8"
    q, k = wide(random, q, length, "int8"), wide(random, k, length, keys)
    v = wide(random, v, width, str(random.choice(["int8", "uint8"])))
    op = replace(op, q_zero=int(random.choice([0, 3])), k_zero=0 if keys == "int16" else -2)
    large = bool(random.integers(0, 3))
    scores = replace(op.score.requant, shift=36 if op.softmax.bits == 0 else 32 + 12 * (keys == "int8"))
    score = Scaling(int(random.integers(2**18, 2**22)), 0, scores) if large else op.score
    mix = (
        Scaling(2**24 + 9, 0, full_range(36, "int8", 2, "half_even"))
        if large
        else Scaling(300, 7, full_range(16, "int8"))
    )
    return Case(KERNEL, replace(op, score=score, mix=mix), [q, k, v, *others])


def wide(random: np.random.Generator, like: Array, length: int, dtype: str) -> Array:
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, (*like.shape[:3], length)).astype(dtype)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_kernel(cores: int) -> None:
    cases = [made for made in map(case, range(60)) if KERNEL.unsupported_reason(made.op, made.types) is None]
    assert len(cases) >= 50
    assert {KERNEL.params(made.op, made.types)["is_upper"] for made in cases} == {0, 1}
    check(share(cases, cores), SIRACUSA, cores)


@pytest.mark.fast
@pytest.mark.parametrize("rounding", ["half_up", "half_even"])
def test_the_upper_half_of_a_product_is_enough(rounding: str) -> None:
    random = np.random.default_rng(2)
    scaling = Scaling(911865657, 0, full_range(45, "int8", -7, rounding))
    found = upper_half(scaling, 2**20)
    assert found is not None
    totals = random.integers(-(2**20), 2**20, 10_000)
    upper = ((totals * scaling.mul >> 32) + found["half"]) >> found["shift"]
    np.testing.assert_array_equal(np.clip(upper - 7, -128, 127), scaling(totals))


@pytest.mark.fast
def test_where_ties_are_possible_64_bits_are_needed() -> None:
    assert upper_half(Scaling(2**25, 0, full_range(45, "int8", 0, "half_even")), 2**20) is None
    assert upper_half(Scaling(2**25, 0, full_range(45, "int8", 0)), 2**20) is not None
    assert upper_half(Scaling(911865657, 0, full_range(30, "int8")), 2**20) is None
