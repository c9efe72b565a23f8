"""Kernels of microcontrollers that cores of clusters take, each for its own part."""

from __future__ import annotations

from dataclasses import replace

import pytest
from numpy.random import default_rng

from tests.support.checks import Case as Given
from tests.targets.cortex_m.test_elements import function, norm, product_of_two
from tests.targets.rv32.test_kernels import KINDS, some_bytes
from tilewright import targets
from tilewright.ir.requant import full_range
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.run.kernel_bench import Case, check


def functions() -> list[Given]:
    random, sizes = default_rng(51), (6, 9, 12)
    return [function(random, rounding, size, 21) for rounding in ("half_even", "half_up") for size in sizes]


def products() -> list[Given]:
    random = default_rng(52)
    return [product_of_two(random, kind) for kind in KINDS if kind not in ("float", "none")]


def norms() -> list[Given]:
    random = default_rng(53)
    return [norm(random, *pair) for pair in (("int8", "int8"), ("uint8", "uint8"), ("int16", "int8")) * 3]


def sums() -> list[Given]:
    random, cases = default_rng(54), list[Given]()
    for rounding, low in (("half_up", -128), ("half_even", -128), ("half_up", -3)):
        requant = replace(full_range(12, "int8", -3, rounding), low=low)
        for second in ((3, 21), (1, 21), (3, 1)):
            operands = [some_bytes(random, "int8", 3, 21), some_bytes(random, "int8", *second)]
            cases.append((QLinearAdd(1000, 3001, 555, requant), [*operands]))
    return cases


WORDS = {
    "qlinearfunction_words.c": functions,
    "qlinearmul_rows.c": products,
    "qlinearrownorm_words.c": norms,
    "qlinearadd_rows.c": sums,
}
ON_CLUSTERS = [(name, source) for name in ("snitch", "minpool") for source in WORDS][:-1]
"""MinPool has another kernel of sums."""


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(("name", "source"), ON_CLUSTERS)
def test_words(name: str, source: str) -> None:
    target = targets.find(name)
    kernel = next(one for one in target.engines[0].kernels if one.source == source)
    cases = [Case(kernel, op, arrays) for op, arrays in WORDS[source]()]
    assert all(kernel.takes(case.op, case.types) for case in cases)
    check(cases, target, cores=1)
