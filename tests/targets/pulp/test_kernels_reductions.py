"""The cluster's reductions and pools of floats, against their operators' numpy meaning."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.types import Array
from tilewright.ops._windows import reach
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemin import ReduceMin
from tilewright.run.kernel_bench import Case, check, measure
from tilewright.target.kernel import Kernel

TOLERANCE = 1e-6
FLOATS = [kernel for kernel in KERNELS if kernel.stem.endswith("_floats")]
REDUCTIONS = [kernel for kernel in FLOATS if kernel.header == "reduce.h"]
POOLS = {kernel.op: kernel for kernel in FLOATS if kernel.header == "pool.h"}


def floats(draw: Draw, *sizes: int) -> Array:
    return draw.array("float32", *sizes)


def reduction(kernel: Kernel, draw: Draw) -> Case:
    sizes = [draw.size(9) for _ in range(draw.size(4))] + [draw.size(23)]
    axes = tuple(axis for axis in range(len(sizes)) if draw.flag()) or (draw.size(len(sizes)) - 1,)
    return Case(kernel, kernel.op(axes, draw.flag()), [floats(draw, *sizes)])  # type: ignore[call-arg]


def pool(draw: Draw, is_average: bool) -> Case:
    rank = draw.size(2)
    kernel, strides, dilations = (tuple(draw.size(high) for _ in range(rank)) for high in (3, 3, 2))
    reaches = [reach(taps, dilation) for taps, dilation in zip(kernel, dilations, strict=True)]
    padding = tuple(draw.size(most) - 1 for most in (*reaches, *reaches))
    spatial = [most + draw.size(5) for most in reaches]
    x = floats(draw, draw.size(2), *spatial, draw.size(13))
    if is_average:
        op = AveragePool(strides, dilations, padding, kernel, draw.flag(), (0,) * rank, channels_last=True)
        return Case(POOLS[AveragePool], op, [x])
    return Case(POOLS[MaxPool], MaxPool(strides, dilations, padding, kernel, channels_last=True), [x])


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_reductions_and_pools(cores: int) -> None:
    cases = [reduction(kernel, Draw(seed)) for kernel in REDUCTIONS for seed in range(40)]
    cases += [pool(Draw(seed), is_average) for is_average in (True, False) for seed in range(40)]
    check(share(cases, cores), SIRACUSA, cores, TOLERANCE)


@pytest.mark.in_turns(3)
def test_what_is_not_a_number_stays() -> None:
    """Wherever among the elements it is; NaNs go through sums by themselves."""
    kernels, cases = {kernel.op: kernel for kernel in REDUCTIONS}, list[Case]()
    window = MaxPool((1, 1), (1, 1), (0, 0, 0, 0), (3, 3), channels_last=True)
    for position in range(9):
        x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1) - 4
        x.reshape(-1)[position] = np.nan
        for values in (x, np.repeat(x, 5, axis=3)):
            cases += [Case(kernels[op], op((1, 2)), [values]) for op in (ReduceMax, ReduceMin)]
            cases.append(Case(POOLS[MaxPool], window, [values]))
    for case, measured in zip(cases, measure(cases, SIRACUSA, 3), strict=True):
        assert np.isnan(measured.results[0]).all(), (case.kernel.source, case.arrays)
