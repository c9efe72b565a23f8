"""What kernels cost on this machine: some of the samples of each, and layers as large as a computer's networks have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tilewright.calibration.values import TO_BYTES, Sample, factors, summands, values
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.run.kernel_bench import Case
from tilewright.target.cost_model import kernel_key
from tilewright.target.kernel import Kernel

MOST = 10
"""Samples of each kernel and width of elements: the smallest, the largest, and some between."""
PRODUCTS = ((1, 288, 768), (1, 1280, 1000), (64, 288, 288), (128, 256, 256), (128, 256, 1024), (64, 768, 288))
IMAGES = (
    # height, width, channels, filters, kernel, stride
    (96, 96, 3, 16, 3, 2), (56, 56, 64, 64, 3, 1), (28, 28, 128, 128, 3, 1), (14, 14, 96, 576, 1, 1),
    (56, 56, 24, 144, 1, 1), (7, 7, 320, 1280, 1, 1),
)  # fmt: skip
DEEP = ((56, 56, 144, 3, 1), (112, 112, 96, 3, 2), (14, 14, 576, 3, 1), (25, 5, 64, 3, 1))
"""Height, width, channels, kernel, stride."""


def large() -> Iterator[Sample]:
    """Operands but for the first are constants in networks."""
    for m, k, n in PRODUCTS:
        yield MatMul(), [values("float32", m, k), values("float32", k, n)]
        yield MatMul(requant=TO_BYTES), [values("int8", m, k), values("int8", k, n), None, factors(1), summands(1)]
    for height, width, channels, filters, kernel, stride in IMAGES:
        x, w = (1, height, width, channels), (filters, kernel, kernel, channels)
        yield from _convolutions(x, w, filters, kernel, stride, 1)
    for height, width, channels, kernel, stride in DEEP:
        x, w = (1, height, width, channels), (channels, kernel, kernel, 1)
        yield from _convolutions(x, w, channels, kernel, stride, channels)
    for shape in ((1, 56, 56, 64), (128, 1024)):
        yield Add(), [values("float32", *shape), values("float32", *shape)]


def _convolutions(
    x: Sequence[int], w: Sequence[int], filters: int, kernel: int, stride: int, groups: int
) -> Iterator[Sample]:
    op = Conv((stride, stride), padding=(kernel // 2,) * 4, channels_last=True, groups=groups)
    yield op, [values("float32", *x), values("float32", *w), values("float32", filters)]
    rest = [values("int32", filters), factors(filters), summands(filters)]
    yield Conv(op.strides, padding=op.padding, channels_last=True, groups=groups, requant=TO_BYTES), [
        values("int8", *x), values("int8", *w), *rest,
    ]  # fmt: skip


def some_of(cases: Iterable[Case]) -> list[Case]:
    """Of the cases of each kernel, from the smallest to the largest."""
    groups: dict[tuple[Kernel, str], list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.kernel, kernel_key(case.kernel, case.types)].append(case)
    return [case for group in groups.values() for case in _spread(sorted(group, key=_size))]


def _spread(cases: Sequence[Case]) -> list[Case]:
    if len(cases) <= MOST:
        return list(cases)
    last = len(cases) - 1
    return [cases[round(number * last / (MOST - 1))] for number in range(MOST)]


def _size(case: Case) -> int:
    shapes = {name: kind.shape for name, kind in case.types.items() if name in case.op.bind(case.arrays)}
    return case.op.macs(shapes) or sum(kind.elements for kind in case.types.values())
