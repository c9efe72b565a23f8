"""Kernels for a GPU, as C of this machine, compute what their operators mean."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import dialect_cases, elementwise, linear_cases, movement, quantised, reductions
from tests.support.checks import Case, check_kernels
from tests.targets.generic.test_kernels_linear import collect
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.softmax import Softmax
from tilewright.target.kernel import Kernel
from tilewright.targets.gpu import plain

pytestmark = pytest.mark.in_turns(6)

SHAPES = {1: [(4, 33)], 2: [(3, 5, 33), (5, 1)], 3: [(3, 1, 7), (5, 7), (2, 3, 5, 1)]}
MAKERS = {**movement.MAKERS, **reductions.MAKERS, **quantised.MAKERS, **dialect_cases.MAKERS}


def elements(dtype: str) -> list[Case]:
    random = np.random.default_rng(6)
    wanted = [kind for kind in elementwise.kinds() if dtype in elementwise.dtypes(kind)]
    found = [op for kind in wanted for op in elementwise.instances(kind, dtype, (dtype,))]
    return [(op, elementwise.operands(op, dtype, SHAPES[len(op.operands)], random)) for op in found]


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.one_in(3)
def test_elements(dtype: str) -> None:
    check_kernels(elements(dtype), target="gpu")


@pytest.mark.parametrize("kind", ["Conv", "MatMul", "MaxPool", "AveragePool"])
@pytest.mark.one_in(2)
def test_products_and_pools(kind: str) -> None:
    check_kernels(collect(linear_cases.CASES[kind], 25), target="gpu")


def made(kernels: tuple[Kernel, ...]) -> list[str]:
    return [kind for kind in dict.fromkeys(kernel.op.__name__ for kernel in kernels) if kind in MAKERS]


OTHERS = {"rows": plain.ROWS, "movement": plain.MOVEMENT, "quantised": plain.QUANTISED}


@pytest.mark.parametrize("kernels", OTHERS)
@pytest.mark.one_in(3)
def test_others(kernels: str) -> None:
    random = np.random.default_rng(8)
    check_kernels([MAKERS[kind](random) for kind in made(OTHERS[kernels]) for _ in range(3)], target="gpu")


@pytest.mark.fast
def test_every_kernel_has_cases() -> None:
    """Or is the element-wise one of an operator, which has its own list of cases."""
    known = {*MAKERS, *linear_cases.CASES, *elementwise.kinds(), "LogSoftmax"}
    assert [kernel.op.__name__ for kernel in plain.KERNELS if kernel.op.__name__ not in known] == []


def test_long_rows_are_summed_by_groups() -> None:
    random = np.random.default_rng(10)
    x, scale = random.standard_normal((3, 700)).astype(np.float32), np.linspace(0.5, 2, 700, dtype=np.float32)
    cases: list[Case] = [(ReduceSum((1,)), [x]), (ReduceMax((1,)), [x]), (Softmax(-1), [x])]
    check_kernels([*cases, (LayerNormalization(), [x + 100, scale, scale])], target="gpu")
