"""The cluster's kernels that move and reduce elements, against their operators' numpy meaning."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array
from tilewright.ops._windows import reach
from tilewright.ops.concat import Concat
from tilewright.ops.expand import Expand
from tilewright.ops.gather import Gather
from tilewright.ops.identity import Identity
from tilewright.ops.pad import Pad
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlineargather import QLinearGather
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.run.kernel_bench import Case, check

Made = tuple[Op, list[Array | None]]


def case(source: str, seed: int) -> Case | None:
    """None where the kernel objects."""
    op, arrays = MAKERS[source](Draw(seed))
    kernel = next(k for k in KERNELS if k.source == source and k.op is type(op))
    made = Case(kernel, op, arrays, skew=seed % 4)
    return made if kernel.unsupported_reason(op, made.types) is None else None


def shape(draw: Draw, rank: int = 4) -> list[int]:
    return [draw.size(9) for _ in range(draw.size(rank))]


def tensor(draw: Draw, *sizes: int) -> Array:
    """Often of bytes, which are moved in ways of their own."""
    return draw.array(str(draw.one_of("int8", "uint8", "int8", "uint8", "int16", "int32", "int64", "float32")), *sizes)


def identity(draw: Draw) -> Made:
    return Identity(copy=True), [tensor(draw, draw.size(40), *shape(draw, 2))]


def transposition(draw: Draw) -> Made:
    x = tensor(draw, *shape(draw), draw.size(30))
    return Transpose(tuple(int(axis) for axis in draw.random.permutation(x.ndim))), [x]


def part(draw: Draw) -> Made:
    x = tensor(draw, *shape(draw, 3), draw.size(70))
    steps = tuple(draw.size(2) for _ in x.shape)
    counts = tuple(draw.size(-(-size // step)) for size, step in zip(x.shape, steps, strict=True))
    room = [size - 1 - (count - 1) * step for size, count, step in zip(x.shape, counts, steps, strict=True)]
    return Slice(tuple(draw.size(left + 1) - 1 for left in room), steps, counts), [x]


def expansion(draw: Draw) -> Made:
    x = tensor(draw, *(1 if draw.flag() else size for size in shape(draw)))
    return Expand((draw.size(3), *(draw.size(9) if size == 1 else size for size in x.shape))), [x]


def copy(draw: Draw) -> Made:
    return (transposition, transposition, part, expansion)[draw.size(4) - 1](draw)


def padding(draw: Draw) -> Made:
    x = tensor(draw, *shape(draw, 2), draw.size(20))
    return Pad(tuple(draw.size(4) - 1 for _ in range(2 * x.ndim)), draw.size(100)), [x]


def joined(draw: Draw) -> Made:
    first = tensor(draw, *shape(draw, 3), draw.size(20))
    axis = draw.size(first.ndim) - 1
    other = [draw.size(12) if at == axis else size for at, size in enumerate(first.shape)]
    return Concat(axis), [first, draw.array(first.dtype.name, *other), first]


def gathered(draw: Draw) -> Made:
    x = tensor(draw, *shape(draw, 2), draw.size(20))
    axis = draw.size(x.ndim) - 1
    dtype = "int64" if draw.flag() else "int32"
    indices = draw.between(-x.shape[axis], x.shape[axis] - 1, *shape(draw, 2))
    return Gather(axis), [x, indices.astype(dtype)]


def looked_up(draw: Draw) -> Made:
    x = draw.array(draw.byte(), draw.size(30), draw.size(40))
    places = draw.between(-x.shape[0], x.shape[0] - 1, draw.size(30)).astype("int32")
    rows, columns = draw.between(-(2**30), 2**30, x.shape[0]), draw.between(0, 2**22, x.shape[1])
    to = "int16" if draw.flag() else draw.byte()
    op = QLinearGather(full_range(33 + draw.size(16), to, draw.size(3)))
    return op, [x, places, rows.astype("int32"), columns.astype("int32")]


def reduced(draw: Draw) -> tuple[tuple[int, ...], Array]:
    """Some axes, and a tensor that has them."""
    sizes = [*shape(draw), draw.size(23)]
    axes = tuple(axis for axis in range(len(sizes) - 1) if draw.flag())
    return axes, draw.array(draw.byte(), *sizes)


def largest(draw: Draw) -> Made:
    axes, x = reduced(draw)
    return ReduceMax(axes, draw.flag()), [x]


def mean(draw: Draw) -> Made:
    axes, x = reduced(draw)
    return ReduceMean(axes, draw.flag(), integer=draw.flag()), [x]


def quantised_mean(draw: Draw) -> Made:
    """Halves of small numbers are often ties; large factors leave 32 bits."""
    axes, x = reduced(draw)
    mul, shift = ((1, 1), (1, 0), (3, 2), (2**30 + 12345, 31), (2**31 - 1, 3))[draw.size(5) - 1]
    requant = Requant(shift, draw.byte(), -20, 110, draw.size(9) - 5, "half_even")
    return QLinearReduceMean(axes, draw.flag(), draw.zero(x.dtype.name), mul, requant), [x]


def quantised_pool(draw: Draw) -> Made:
    rank = draw.size(2)
    kernel, strides, dilations = (tuple(draw.size(high) for _ in range(rank)) for high in (3, 3, 2))
    padding = tuple(draw.size(4) - 1 for _ in range(2 * rank))
    spatial = [reach(taps, dilation) + draw.size(5) for taps, dilation in zip(kernel, dilations, strict=True)]
    x = draw.array(draw.byte(), draw.size(2), *spatial, draw.size(27))
    mul, shift = ((1, 1), (3, 2), (2**30 + 12345, 31))[draw.size(3) - 1]
    requant = Requant(shift, draw.byte(), -20, 110, draw.size(9) - 5, "half_even")
    attributes = {"x_zero": draw.zero(x.dtype.name), "mul": mul, "requant": requant, "channels_last": True}
    return QLinearAveragePool(strides, dilations, padding, kernel, **attributes), [x]  # type: ignore[arg-type]


MAKERS: dict[str, Callable[[Draw], Made]] = {
    "identity_words.c": identity,
    "copy_words.c": copy,
    "pad_words.c": padding,
    "concat_words.c": joined,
    "gather_rows.c": gathered,
    "qlineargather_rows.c": looked_up,
    "reducemax_columns.c": largest,
    "reducemean_columns.c": mean,
    "qlinearreducemean_columns.c": quantised_mean,
    "qlinearaveragepool_columns.c": quantised_pool,
}


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_kernels(cores: int) -> None:
    """All in one program: starting compilers and machines takes longer than most of them do."""
    cases = [[found for seed in range(40) if (found := case(source, seed))] for source in MAKERS]
    assert min(map(len, cases)) >= 15
    check(share(list(chain(*cases)), cores), SIRACUSA, cores)
