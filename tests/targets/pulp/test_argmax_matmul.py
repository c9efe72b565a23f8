"""Products that are compared and not stored: of each block of words the best and its place, by cores together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.targets.pulp.machine import SIRACUSA
from tilewright.ir.requant import Requant, full_range
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.pulp.argmax_matmul import KERNELS

(KERNEL,) = KERNELS
HALVES = full_range(31, "int16", 3, "half_even")
BYTES = full_range(34, "int8")


def case(words: int, length: int, block: int, requant: Requant, bias: bool, summand: bool, rows: int = 1) -> Case:
    random = np.random.default_rng(words * length)
    a, b = (random.integers(-128, 128, (count, length)).astype(np.int8) for count in (rows, words))
    mul = random.integers(1 << 20, 1 << 23, words).astype(np.int32)
    each = [random.integers(-(1 << 20), 1 << 20, words).astype(np.int32) if one else None for one in (bias, summand)]
    return Case(KERNEL, ArgMaxMatMul(block, requant), [a, b, each[0], mul, each[1]])


def cases() -> Iterator[Case]:
    for words, length, block in ((128, 64, 16), (101, 64, 16), (33, 7, 8), (5, 16, 64), (70, 66, 10)):
        for bias in (False, True):
            for summand in (False, True):
                yield case(words, length, block, HALVES, bias, summand)
        yield case(words, length, block, BYTES, True, False, rows=3)


def equal_words() -> Iterator[Case]:
    """Where all are equal, or saturated, the first counts."""
    for words, value in ((50, 0), (50, 127)):
        b, mul = np.full((words, 32), value, np.int8), np.full(words, 1 << 30, np.int32)
        for sign in (1, -1):
            yield Case(KERNEL, ArgMaxMatMul(8, HALVES), [np.full((1, 32), sign * 100, np.int8), b, None, mul])


def bytes_of_both_kinds() -> Iterator[Case]:
    random = np.random.default_rng(3)
    for left, right in (("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")):
        a, b = (random.integers(0, 200, shape).astype(kind) for shape, kind in (((1, 18), left), ((21, 18), right)))
        yield Case(KERNEL, ArgMaxMatMul(4, HALVES), [a, b, None, np.full(21, 9 << 20, np.int32)])


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("cores", [1, 8])
def test_the_best_of_each_block(cores: int) -> None:
    check([*cases(), *equal_words(), *bytes_of_both_kinds()], SIRACUSA, cores)


@pytest.mark.fast
def test_what_is_left_to_others() -> None:
    plain = Case(KERNEL, ArgMaxMatMul(4), [np.zeros((1, 8), np.int8), np.zeros((9, 8), np.int8)])
    assert KERNEL.unsupported_reason(plain.op, plain.types) is not None
    short = case(9, 3, 4, HALVES, False, False)
    assert KERNEL.unsupported_reason(short.op, short.types) is not None
