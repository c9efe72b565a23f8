"""The cluster's kernels of plain arithmetic and of functions of floats, against their operators' numpy meaning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops.add import Add
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.erf import Erf
from tilewright.ops.exp import Exp
from tilewright.ops.gelu import Gelu
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softmax import Softmax
from tilewright.ops.sub import Sub
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh
from tilewright.run.kernel_bench import Case, check, measure
from tilewright.target.kernel import Kernel
from tilewright.targets.pulp import arithmetic, functions

pytestmark = pytest.mark.in_turns(6)

DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32")
TOLERANCE = 1e-6
FUNCTIONS: dict[str, tuple[Op, float, float]] = {
    "erf_shared.c": (Erf(), -6.0, 6.0),
    "exp_shared.c": (Exp(), -80.0, 88.0),
    "sigmoid_shared.c": (Sigmoid(), -80.0, 80.0),
    "swish_shared.c": (Swish(1.3), -8.0, 80.0),
    "tanh_shared.c": (Tanh(), -30.0, 30.0),
    "gelu_shared.c": (Gelu(), -2.0, 30.0),
    "gelu_tanh_shared.c": (Gelu("tanh"), -2.0, 30.0),
    "hardsigmoid_shared.c": (HardSigmoid(0.25, 0.4), -1.5, 9.0),
    "hardswish_shared.c": (HardSwish(), -2.9, 30.0),
    "leakyrelu_shared.c": (LeakyRelu(0.3), -30.0, 30.0),
}
"""With the range in which every result is exact to TOLERANCE of itself; outside it is so of the largest."""
EDGES = np.array([0, -0.0, np.nan, 500, -500, 1e-6, -1e-6], np.float32)


def kernel(source: str) -> Kernel:
    return next(k for k in (*arithmetic.KERNELS, *functions.KERNELS) if k.source == source)


def pair(draw: Draw) -> list[Array]:
    """Of the same shape, or one of them broadcast along some axes."""
    dtype = str(draw.one_of(*DTYPES))
    shape = [draw.size(9) for _ in range(draw.size(3))] + [draw.size(20)] * draw.flag()
    other = [size if draw.size(3) > 1 else 1 for size in shape][draw.size(len(shape)) - 1 :]
    a, b = draw.array(dtype, *shape), draw.array(dtype, *other)
    return [a, b] if draw.flag() else [b, a]


def single(draw: Draw) -> list[Array]:
    return [draw.array(str(draw.one_of(*DTYPES)), draw.size(70), draw.size(5))]


PLAIN: dict[str, tuple[Op, Callable[[Draw], list[Array]]]] = {
    "add_shared.c": (Add(), pair),
    "sub_shared.c": (Sub(), pair),
    "mul_shared.c": (Mul(), pair),
    "max_shared.c": (Max(), pair),
    "min_shared.c": (Min(), pair),
    "relu_shared.c": (Relu(), single),
    "clip_shared.c": (Clip(0, 6), single),
}


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_arithmetic(cores: int) -> None:
    cases = [
        Case(kernel(source), op, operands(Draw(seed)), skew=seed % 4)
        for source, (op, operands) in PLAIN.items()
        for seed in range(40)
    ]
    check(share(cases, cores), SIRACUSA, cores, 0.0)


def test_every_result_of_a_function_is_close() -> None:
    near_zero, cases = np.linspace(-1.5, 1.5, 3001), list[Case]()
    for source, (op, low, high) in FUNCTIONS.items():
        x = np.concatenate([np.linspace(low, high, 4003), near_zero]).astype(np.float32)
        cases.append(Case(kernel(source), op, [x]))
    for case, measured in zip(cases, measure(cases, SIRACUSA, 8), strict=True):
        found, wanted = (np.asarray(y, np.float64) for y in (measured.results[0], case.op.numpy(*case.arrays)))
        np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=1e-30, err_msg=case.kernel.source)


@pytest.mark.parametrize("cores", CORES)
def test_functions(cores: int) -> None:
    cases = [
        Case(kernel(source), op, [Draw(seed).array("float32", Draw(seed).size(70)) * 9])
        for source, (op, *_) in FUNCTIONS.items()
        for seed in range(20)
    ]
    check(share(cases, cores), SIRACUSA, cores, TOLERANCE)


def test_edges_of_functions() -> None:
    cases = [Case(kernel(source), op, [EDGES]) for source, (op, *_) in FUNCTIONS.items()]
    for case, measured in zip(cases, measure(cases, SIRACUSA, 3), strict=True):
        with np.errstate(over="ignore"):
            wanted = case.op.numpy(EDGES)
        np.testing.assert_allclose(measured.results[0], wanted, rtol=TOLERANCE, atol=1e-11, err_msg=case.kernel.source)


@pytest.mark.parametrize("cores", CORES)
def test_quotients(cores: int) -> None:
    def case(draw: Draw) -> Case:
        a, b = (array.astype(np.float32) for array in pair(draw))
        return Case(kernel("div_shared.c"), Div(), [a, np.where(b == 0, np.float32(1), b)])

    check(share([case(Draw(seed)) for seed in range(40)], cores), SIRACUSA, cores, TOLERANCE)


def softmax(draw: Draw) -> Case:
    x = draw.array("float32", *(draw.size(9) for _ in range(draw.size(2))), draw.size(40)) * 5
    return Case(kernel("softmax_rows.c"), Softmax(draw.size(x.ndim) - 1), [x])


def layer_norm(draw: Draw) -> Case:
    x = draw.array("float32", draw.size(20), draw.size(40))
    bias = draw.array("float32", x.shape[1]) if draw.flag() else None
    if draw.flag():  # far from zero, with a small spread
        x = (300 + x / 1000).astype(np.float32)
    return Case(kernel("layer_norm_rows.c"), LayerNormalization(-1, 1e-9), [x, draw.array("float32", x.shape[1]), bias])


def rms_norm(draw: Draw) -> Case:
    x = draw.array("float32", draw.size(20), draw.size(40))
    return Case(kernel("rms_norm_rows.c"), RMSNormalization(), [x, draw.array("float32", x.shape[1])])


@pytest.mark.parametrize("cores", CORES)
def test_rows(cores: int) -> None:
    cases = [make(Draw(seed)) for make in (softmax, layer_norm, rms_norm) for seed in range(40)]
    check(share(cases, cores), SIRACUSA, cores, TOLERANCE)
