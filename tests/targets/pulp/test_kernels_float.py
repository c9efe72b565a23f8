"""The cluster's kernels of floats on the virtual SoC, against their operators' numpy meaning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ops._windows import reach
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.run.kernel_bench import Case, check


def matmul(seed: int) -> Case:
    draw = Draw(seed)
    m, k, n = draw.size(11), draw.size(19), draw.size(11)
    trans_a, trans_b = draw.flag(), draw.flag()
    batch = [draw.size(4)] if draw.flag() else []
    a = draw.array("float32", *batch, *((k, m) if trans_a else (m, k)))
    b = draw.array("float32", *(batch if draw.flag() else []), *((n, k) if trans_b else (k, n)))
    bias = draw.array("float32", *((n,), (m, 1), (m, n))[draw.size(3) - 1]) if draw.flag() else None
    scales = (0.5, 2.0) if draw.flag() else (1.0, 1.0)
    kernel = next(kernel for kernel in KERNELS if kernel.source == "matmul_blocks_f32.c")
    return Case(kernel, MatMul(trans_a, trans_b, *scales), [a, b, bias])


def conv(seed: int, source: str) -> Case:
    draw = Draw(seed)
    rank = draw.size(2)
    taps, strides, dilations = (tuple(draw.size(high) for _ in range(rank)) for high in (3, 3, 2))
    padding = tuple(draw.size(3) - 1 for _ in range(2 * rank))
    spatial = [reach(count, dilation) + draw.size(6) for count, dilation in zip(taps, dilations, strict=True)]
    groups, channels, filters = draw.size(2), draw.size(9), 3 + draw.size(7)
    if source == "depthwise_rows_f32.c":
        groups, channels, filters, taps = 1 + draw.size(9), 1, 1, (3,) * rank if draw.flag() else taps
        spatial = [size + 3 for size in spatial]
    x = draw.array("float32", draw.size(2), *spatial, groups * channels)
    w = draw.array("float32", groups * filters, *taps, channels)
    bias = draw.array("float32", groups * filters) if draw.flag() else None
    kernel = next(kernel for kernel in KERNELS if kernel.source == source)
    return Case(kernel, Conv(strides, dilations, padding, groups, channels_last=True), [x, w, bias])


def winograd(seed: int, stride: int) -> Case:
    draw = Draw(seed)
    spatial = [2 + draw.size(9) for _ in range(2)]
    channels, filters = draw.size(21), draw.size(21)
    x, w = draw.array("float32", draw.size(2), *spatial, channels), draw.array("float32", filters, 3, 3, channels)
    bias = draw.array("float32", filters) if draw.flag() else None
    padding = tuple(draw.size(3) - 1 for _ in range(4))
    source = {1: "conv_winograd_f32.c", 2: "conv_winograd_strided_f32.c"}[stride]
    kernel = next(kernel for kernel in KERNELS if kernel.source == source)
    return Case(kernel, Conv((stride, stride), (1, 1), padding, channels_last=True), [x, w, bias])


def activated(case: Case) -> Case:
    assert isinstance(case.op, Conv | MatMul)
    return replace(case, op=replace(case.op, activation=Relu()))


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("cores", CORES)
def test_products_and_convolutions(cores: int) -> None:
    sources = ("conv_blocks_f32.c", "depthwise_rows_f32.c")
    cases = [conv(seed, source) for seed in range(40) for source in sources] + [matmul(seed) for seed in range(40)]
    cases += [winograd(seed, stride) for seed in range(16) for stride in (1, 2)]
    cases += [activated(case) for case in cases[::3]]
    check(share(cases, cores), SIRACUSA, cores)


def test_a_factor_and_a_summand_of_each_channel() -> None:
    kernel = next(kernel for kernel in KERNELS if kernel.source == "batchnormalization_rows.c")
    draw, cases = Draw(3), list[Case]()
    for rows, channels in ((9, 8), (3, 7), (20, 1), (1, 13)):
        shapes = (rows, channels), (channels,), (channels,)
        cases.append(Case(kernel, BatchNormalization(axis=1), [draw.array("float32", *shape) for shape in shapes]))
    check(cases, SIRACUSA, 8)
