"""The cluster's kernels of sums of products on the virtual SoC, against their operators' numpy meaning."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.types import Array
from tilewright.ops._windows import reach
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.run.kernel_bench import Case, check
from tilewright.target.kernel import Kernel

pytestmark = pytest.mark.in_turns(6)


def kernel(source: str) -> Kernel:
    return next(kernel for kernel in KERNELS if kernel.source == source)


def matmul(seed: int, source: str, rows: int = 19, inner: int = 37) -> Case:
    draw = Draw(seed)
    m, k, n = draw.size(rows), draw.size(inner), draw.size(21)
    a_type, b_type = draw.byte(), draw.byte()
    trans_a, trans_b = (draw.flag(), draw.flag()) if source == "matmul_dots.c" else (False, True)
    batch = [draw.size(5) for _ in range(draw.size(3) - 1)]
    broadcast = [1 if draw.flag() else size for size in batch]
    a = draw.array(a_type, *batch, *((k, m) if trans_a else (m, k)))
    b = draw.array(b_type, *(broadcast if draw.flag() else []), *((n, k) if trans_b else (k, n)))
    bias = draw.between(-20000, 20000, *draw.one_of((1,), (n,), (m, n))) if draw.flag() else None  # type: ignore[misc]
    requant, rest = None, list[Array | None]()
    if seed % 4 or source == "depthwise_windows.c":
        requant, rest = draw.requant(draw.byte(), k, (1,), (n,), (m, 1))
    perm_a, perm_y = (tuple(int(i) for i in draw.random.permutation(2 + len(batch))) for _ in range(2))
    if seed % 5 == 0:
        a = np.ascontiguousarray(a.transpose(np.argsort(perm_a)))
    op = MatMul(
        trans_a,
        trans_b,
        a_zero=draw.zero(a_type),
        b_zero=draw.zero(b_type) if seed % 3 == 0 else 0,
        requant=requant,
        perm_a=perm_a if seed % 5 == 0 else (),
        perm_y=perm_y if seed % 7 == 0 else (),
    )
    return Case(kernel(source), op, [a, b, bias, *rest], skew=draw.size(4) - 1)


def fitting(cases: list[Case], least: int) -> list[Case]:
    """Those that the kernel takes."""
    found = [case for case in cases if case.kernel.unsupported_reason(case.op, case.types) is None]
    assert len(found) >= least
    return found


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_products(cores: int) -> None:
    cases = fitting([matmul(seed, "matvec_dots.c", rows=3) for seed in range(200)], 50)
    cases += [matmul(seed, "matmul_dots.c") for seed in range(80)]
    check(share(cases, cores), SIRACUSA, cores)


def conv(seed: int, source: str) -> Case:
    draw = Draw(seed)
    rank = 1 + draw.flag()
    kernel_shape, strides, dilations = (tuple(draw.size(high) for _ in range(rank)) for high in (4, 3, 2))
    padding = tuple(draw.size(3) - 1 for _ in range(2 * rank))
    spatial = [reach(taps, dilation) + draw.size(9) for taps, dilation in zip(kernel_shape, dilations, strict=True)]
    groups = draw.size(3) if seed % 3 == 0 else 1
    channels, filters = draw.size(13) + 3 * (kernel_shape == (1,) * rank), draw.size(11)
    if source == "depthwise_dots.c":
        groups, channels, filters, dilations = 3 + draw.size(11), 1, 1, (*dilations[:-1], 1)
        kernel_shape = kernel_shape if seed % 3 == 0 else (3,) * rank
        spatial = [size + 6 for size in spatial]
    elif source == "depthwise_windows.c":
        groups, channels, filters, dilations = 3 + draw.size(11), 1, 1, (*dilations[:-1], 1)
        kernel_shape = tuple(draw.size(8) for _ in range(rank)) if seed % 3 else (5, 5)[:rank]
        spatial = [reach(*size) + draw.size(9) for size in zip(kernel_shape, dilations, strict=True)]
    elif seed % 4 == 1:
        kernel_shape, strides, padding = (1,) * rank, (1,) * rank, (0,) * 2 * rank
        channels += 3
    x_type, w_type = draw.byte(), draw.byte() if seed % 5 == 0 else "int8"
    x = draw.array(x_type, draw.size(2), *spatial, groups * channels)
    w = draw.array(w_type, groups * filters, *kernel_shape, channels)
    per: list[tuple[int, ...]] = [(1,), (groups * filters,)]
    bias = draw.between(-20000, 20000, *per[seed % 2]) if draw.flag() else None
    requant, rest = None, list[Array | None]()
    if seed % 4 or source == "depthwise_windows.c":
        is_wide = source == "depthwise_windows.c" and seed % 3 == 2
        requant, rest = draw.requant("int16" if is_wide else draw.byte(), w[0].size, *per)
    has_w_zero = seed % 5 == 0 and source == "conv_dots.c"
    zeros = draw.zero(x_type), draw.zero(w_type) if has_w_zero else 0
    op = Conv(strides, dilations, padding, groups, *zeros, requant, channels_last=True)
    return Case(kernel(source), op, [x, w, bias, *rest], skew=draw.size(4) - 1)


@pytest.mark.parametrize("cores", CORES)
def test_short_sums(cores: int) -> None:
    check(share([matmul(seed, "matmul_dots.c", inner=4) for seed in range(60)], cores), SIRACUSA, cores)


SOURCES = ("conv_dots.c", "depthwise_dots.c", "depthwise_windows.c")


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_convolutions(cores: int) -> None:
    found = [fitting([conv(seed, source) for seed in range(80)], 70) for source in SOURCES]
    check(share([case for cases in found for case in cases], cores), SIRACUSA, cores)


def wide_conv(seed: int) -> Case:
    """Images whose rows are long enough for their windows to be left where they are."""
    draw = Draw(seed)
    taps, strides = (draw.size(3), draw.size(4)), (draw.size(2), draw.size(3))
    padding = (0, 0, 0, 0) if seed % 4 == 0 else tuple(draw.size(3) - 1 for _ in range(4))
    dilations = (draw.size(2), 1)
    channels = 4 * draw.size(4) if seed % 3 else draw.size(13)
    channels, width = (64, 30) if seed % 16 == 5 else (channels, draw.size(14) + 4)
    height = reach(taps[0], dilations[0]) + draw.size(5)
    x_type, w_type = draw.byte(), draw.byte() if seed % 5 == 0 else "int8"
    filters = 3 + draw.size(11)
    x = draw.array(x_type, draw.size(2), height, strides[1] * width, channels)
    w = draw.array(w_type, filters, *taps, channels)
    bias = draw.between(-20000, 20000, filters) if draw.flag() else None
    requant, rest = None, list[Array | None]()
    if seed % 7:
        requant, rest = draw.requant(draw.byte(), w[0].size, (1,), (filters,))
    op = Conv(strides, dilations, padding, 1, draw.zero(x_type), 0, requant, channels_last=True)
    return Case(kernel("conv_dots.c"), op, [x, w, bias, *rest], skew=draw.size(4) - 1)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_strips(cores: int) -> None:
    cases = [wide_conv(seed) for seed in range(60)]
    params = [case.kernel.params(case.op, case.types) for case in cases]
    in_strips = [fields for fields in params if fields["strips"]]
    assert len(in_strips) >= 40
    assert any(fields["chunk"] != fields["out_w"] for fields in in_strips)
    check(share(cases, cores), SIRACUSA, cores)
