"""C kernels of linear operators and pools against their numpy meaning, many random cases in one program."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.support import linear_cases
from tests.support.checks import Case, check_kernels
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, element
from tilewright.ops._filters import Filters
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.gelu import Gelu
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.relu import Relu
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh

pytestmark = pytest.mark.in_turns(6)


def collect(strategy: st.SearchStrategy[Case], count: int) -> list[Case]:
    """The first examples of a strategy: compiling one program for each would take too long."""
    cases: list[Case] = []

    @seed(1)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def take(case: Case) -> None:
        cases.append(case)

    take()
    return cases


RANDOM = linear_cases.CASES | {"MatMul": linear_cases.matmuls(columns=50)}


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("kind", RANDOM)
def test_random_cases(kind: str) -> None:
    check_kernels(collect(RANDOM[kind], 60))


random = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def integers(dtype: str, *shape: int) -> Array:
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype, endpoint=True)


def mul(count: int) -> Array:
    return random.integers(1, 2000, count).astype(np.int32)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cc", [None, "gcc"])
def test_larger_cases(cc: str | None) -> None:
    """Several blocks of pixels, chunks of channels, bands of rows and blocks of columns."""
    if cc and not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    same, narrow = (1, 1, 1, 1), full_range(20, "int8")
    row = 9999 * mul(6).reshape(6, 1)
    check_kernels(
        [
            (Conv(padding=same), [floats(1, 40, 9, 9), floats(9, 40, 3, 3), floats(9)]),
            (
                Conv(padding=same, requant=narrow),
                [integers("int8", 1, 150, 9, 7), integers("int8", 6, 150, 3, 3), None, mul(6)],
            ),
            (Conv((2, 2), padding=same, x_zero=3), [integers("uint8", 2, 5, 15, 13), integers("int8", 6, 5, 3, 3)]),
            (Conv(padding=same, groups=3), [floats(1, 3, 70, 90), floats(6, 1, 3, 3), floats(6)]),
            (Conv((2, 2), padding=same, groups=3), [floats(1, 3, 90, 90), floats(3, 1, 3, 3)]),
            (Conv(padding=same, groups=3, w_zero=2), [integers("int8", 1, 3, 70, 90), integers("uint8", 6, 1, 3, 3)]),
            (Conv((2, 2), padding=same, groups=2), [integers("uint8", 1, 2, 90, 90), integers("int8", 2, 1, 3, 3)]),
            (MatMul(), [floats(9, 33), floats(33, 75), floats(75)]),
            (MatMul(trans_b=True), [floats(3, 70), floats(40, 70)]),
            (MatMul(trans_b=True), [floats(10, 70), floats(40, 70)]),
            (MatMul(), [floats(6, 300), floats(300, 10)]),
            (MatMul(trans_a=True), [integers("int8", 1100, 6), integers("int8", 1100, 9)]),
            (
                MatMul(a_zero=3, b_zero=-4, requant=narrow),
                [integers("uint8", 9, 33), integers("int8", 33, 75), None, mul(75)],
            ),
            (MatMul(trans_b=True, b_zero=5), [integers("int8", 3, 70), integers("uint8", 40, 70)]),
            *(
                (MatMul(requant=narrow), [integers("int8", 6, 9), integers("int8", 9, 5), None, factor, summand])
                for factor, summand in ((mul(1), row), (row, mul(5)), (mul(5), row))
            ),
        ],
        cc=cc,
    )


@pytest.mark.parametrize("op", [Conv((3, 1)), Conv(padding=(0, 0, 1, 0)), Conv(padding=(1, 1, 1, 1))], ids=str)
def test_working_memory_of_pointwise_convolutions(op: Conv) -> None:
    """Alone in a program: its working memory is the arena, beside which the program may not write."""
    check_kernels([(op, [floats(2, 8, 1, 5), floats(3, 8, 1, 1)])])
    check_kernels([(op, [integers("int8", 2, 8, 1, 5), integers("int8", 3, 8, 1, 1)])])


def test_pools_of_what_is_not_a_number() -> None:
    x = floats(1, 2, 7, 9)
    x[0, 0, 2, 3], x[0, 1, 0, 0], x[0, 1, 5] = np.nan, -np.inf, -np.inf
    pools = (MaxPool(padding=(1, 1, 1, 1), kernel=(3, 3)), MaxPool((2, 3), kernel=(2, 2)), GlobalMaxPool())
    check_kernels([(pool, [x]) for pool in pools])


def test_empty_tensors() -> None:
    check_kernels(
        [
            (MatMul(), [floats(0, 3), floats(3, 2)]),
            (MatMul(), [floats(2, 0), floats(0, 3), floats(3)]),
            (MatMul(), [integers("int8", 2, 0), integers("int8", 0, 3)]),
            (MatMul(), [floats(0, 2, 3), floats(3, 2)]),
            (Conv(), [floats(0, 2, 3, 3), floats(2, 2, 1, 1)]),
            (Conv(), [floats(1, 2, 3, 3), floats(0, 2, 1, 1)]),
            (Conv(), [integers("int8", 1, 0, 3, 3), integers("int8", 2, 0, 1, 1)]),
        ]
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_of_16_bits(dtype: str) -> None:
    """Wide and narrow, stored either way, with few and with many rows; and the smallest numbers that there are."""
    kind = element(dtype)

    def short(*shape: int) -> Array:
        return (floats(*shape) * 10.0 ** random.integers(-7, 2, shape)).astype(kind)

    cases: list[Case] = [
        (MatMul(trans_b=trans_b), [floats(rows, inner), short(*((columns, inner) if trans_b else (inner, columns)))])
        for trans_b in (False, True)
        for rows, inner, columns in ((1, 40, 37), (9, 300, 70), (5, 12, 1), (4, 7, 3))
    ]
    cases += [
        (MatMul(trans_a=True, trans_b=True), [floats(20, 3), short(5, 20), floats(5)]),
        (MatMul(), [floats(2, 3, 8), short(2, 8, 33)]),
        (Conv(), [floats(2, 3, 9, 7), short(5, 3, 3, 3), floats(5)]),
        (Conv((2,), (1,), (1, 1)), [floats(1, 6, 40), short(8, 6, 3)]),
    ]
    check_kernels(cases)


ACTIVATIONS = (Relu(), Clip(-0.5, 1.5), LeakyRelu(0.1), HardSigmoid(0.3, 0.4), HardSwish())
CURVES = (Sigmoid(), Swish(1.702), Tanh(), Gelu(), Gelu("tanh"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cc", [None, "gcc"])
def test_activations(cc: str | None) -> None:
    """Of every kernel of floats, also where there are several chunks of channels and blocks that overlap.
    Operands are small, so that results are in the range where activations do something. A kernel is compiled for each
    curve, so that a case has one of them, and every one has two cases, or one with a compiler that takes longer."""
    if cc and not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    same, half = (1, 1, 1, 1), element("float16")
    cases: list[tuple[Filters | MatMul, list[Array]]] = [
        (Conv(padding=same), [floats(1, 40, 9, 9) / 16, floats(9, 40, 3, 3), floats(9)]),
        (Conv(padding=same), [floats(1, 40, 9, 9) / 16, floats(9, 40, 3, 3).astype(half), floats(9)]),
        (Conv(), [floats(2, 5, 3, 4), floats(3, 5, 1, 1)]),
        (Conv(padding=same, groups=3), [floats(1, 3, 20, 30), floats(6, 1, 3, 3), floats(6)]),
        (Conv((2, 2), padding=same, groups=3), [floats(1, 3, 20, 30), floats(3, 1, 3, 3)]),
        (Conv(padding=same, channels_last=True), [floats(1, 5, 6, 4), floats(3, 3, 3, 4), floats(3)]),
        (ConvTranspose(spatial=(9, 9), strides=(2, 2)), [floats(1, 4, 4, 4), floats(4, 3, 3, 3), floats(3)]),
        (MatMul(), [floats(9, 33) / 4, floats(33, 75), floats(75)]),
        (MatMul(), [floats(9, 33) / 4, floats(33, 75).astype(half), floats(75)]),
        (MatMul(trans_b=True), [floats(3, 70) / 8, floats(40, 70)]),
        (MatMul(perm_y=(1, 0)), [floats(9, 7), floats(7, 5), floats(5)]),
    ]
    curves = CURVES if cc else CURVES * 3
    check_kernels(
        [
            (replace(op, activation=of), arrays)
            for number, (op, arrays) in enumerate(cases)
            for of in (*ACTIVATIONS, *curves[number : number + 1])
        ],
        cc=cc,
    )
