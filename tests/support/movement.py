"""Random operators that move elements, with operands that fit them. Used by the tests of operators and of kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from tests.support.checks import Case
from tilewright.ir.types import STORED, Array, Shape, element
from tilewright.ops._fourier import twiddles
from tilewright.ops.cast import Cast
from tilewright.ops.concat import Concat
from tilewright.ops.cumprod import CumProd
from tilewright.ops.cumsum import CumSum
from tilewright.ops.expand import Expand
from tilewright.ops.fft import FFT
from tilewright.ops.gather import Gather
from tilewright.ops.gatherelements import GatherElements
from tilewright.ops.gathernd import GatherND
from tilewright.ops.gridsample import MODES, PADDINGS, GridSample
from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.ops.onehot import OneHot
from tilewright.ops.pad import Pad
from tilewright.ops.placerows import PlaceRows
from tilewright.ops.reshape import Reshape
from tilewright.ops.resize import Resize
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.slice import Slice
from tilewright.ops.topk import TopK
from tilewright.ops.transpose import Transpose
from tilewright.ops.trilu import Trilu
from tilewright.ops.writerows import WriteRows

JOINS = ("none", "add", "mul", "max", "min")


def any_type(random: Generator) -> str:
    """One of each size is enough: the kernels do not look at elements."""
    return str(random.choice(["float32", "int8", "bool", "uint16", "int64"]))


def values(random: Generator, shape: Shape, dtype: str = "") -> Array:
    """Any values of a type, of a random one by default."""
    dtype = dtype or any_type(random)
    if dtype == "float32":
        return random.standard_normal(shape).astype(np.float32)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(np.bool_)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def sizes(random: Generator, rank: int, low: int = 0) -> Shape:
    """A shape; now and then with an axis of 0 or 1."""
    return tuple(int(size) for size in random.choice([low, 1, 2, 3, 4, 5, 7], rank))


def broadcastable(random: Generator) -> tuple[Shape, Shape]:
    """Two shapes, of which one (either of them) broadcasts to the other."""
    shape = sizes(random, int(random.integers(1, 5)), low=1)
    other = tuple(size if random.random() < 0.5 else 1 for size in shape)[int(random.integers(0, len(shape) + 1)) :]
    return (shape, other) if random.random() < 0.5 else (other, shape)


def indices(random: Generator, shape: Shape, size: int) -> Array:
    """Indices on an axis of that size, from both ends."""
    return random.integers(-size, size, shape).astype(str(random.choice(["int32", "int64"])))


def transpose(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(0, 6)))
    return Transpose(tuple(map(int, random.permutation(len(shape))))), [values(random, shape)]


def slice_(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(0, 5)))
    starts, steps, lengths = [], [], []
    for size in shape:
        step = int(random.choice([-3, -2, -1, 1, 2, 3]))
        start = int(random.integers(0, max(size, 1)))
        room = (size - 1 - start) // step + 1 if step > 0 else start // -step + 1
        starts.append(start)
        steps.append(step)
        lengths.append(int(random.integers(0, room + 1)) if size else 0)
    return Slice(tuple(starts), tuple(steps), tuple(lengths)), [values(random, shape)]


def expand(random: Generator) -> Case:
    result = sizes(random, int(random.integers(0, 5)))
    shape = tuple(1 if random.random() < 0.5 else size for size in result)[int(random.integers(0, len(result) + 1)) :]
    return Expand(result), [values(random, shape)]


def concat(random: Generator) -> Case:
    shape = list(sizes(random, int(random.integers(1, 5))))
    axis = int(random.integers(0, len(shape)))
    dtype = any_type(random)
    parts = []
    for length in sizes(random, int(random.integers(1, 5))):
        shape[axis] = length
        parts.append(values(random, tuple(shape), dtype))
    return Concat(axis), parts


def gather(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 4)), low=1)
    axis = int(random.integers(0, len(shape)))
    where = indices(random, sizes(random, int(random.integers(0, 3))), shape[axis])
    return Gather(axis), [values(random, shape), where]


def gather_elements(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 4)), low=1)
    axis = int(random.integers(0, len(shape)))
    wanted = tuple(int(random.integers(0, size + 1)) for size in shape)
    wanted = (*wanted[:axis], int(random.integers(0, 5)), *wanted[axis + 1 :])
    return GatherElements(axis), [values(random, shape), indices(random, wanted, shape[axis])]


def gather_nd(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 5)), low=1)
    batch = int(random.integers(0, len(shape)))
    depth = int(random.integers(1, len(shape) - batch + 1))
    among = sizes(random, int(random.integers(0, 3)))
    smallest = min(shape[batch : batch + depth])
    return GatherND(batch), [values(random, shape), indices(random, (*shape[:batch], *among, depth), smallest)]


def scatter_elements(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 4)), low=1)
    axis, wanted = int(random.integers(0, len(shape))), tuple(int(random.integers(0, size + 1)) for size in shape)
    x = values(random, shape, str(random.choice(["float32", "int8", "int64"])))
    # Each position along the axis at most once: without a reduction the order of updates is open.
    places = np.argsort(random.random((*wanted[:axis], shape[axis], *wanted[axis + 1 :])), axis)
    places = np.take(places, range(wanted[axis]), axis)
    return ScatterElements(str(random.choice(JOINS)), axis), [x, places, values(random, wanted, x.dtype.name)]


def scatter_nd(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 4)), low=1)
    depth = int(random.integers(1, len(shape) + 1))
    x = values(random, shape, str(random.choice(["float32", "int8", "int64"])))
    rows = random.permutation(int(np.prod(shape[:depth])))[: int(random.integers(0, 4))]
    where = np.stack(np.unravel_index(rows, shape[:depth]), axis=-1).astype(np.int64)
    updates = values(random, (len(rows), *shape[depth:]), x.dtype.name)
    return ScatterND(str(random.choice(JOINS))), [x, where, updates]


def write_rows(random: Generator) -> Case:
    held, inner = int(random.integers(1, 9)), sizes(random, int(random.integers(0, 3)), low=1)
    x = values(random, (1, held, *inner))
    rows = values(random, (1, int(random.integers(1, held + 1)), *inner), x.dtype.name)
    return WriteRows(), [x, rows, np.array([random.integers(-1, held + 2)], np.int32)]


def place_rows(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 5)), low=1)
    axis = int(random.integers(len(shape)))
    count = int(random.integers(1, shape[axis] + 1))
    x = values(random, shape)
    rows = values(random, (*shape[:axis], count, *shape[axis + 1 :]), x.dtype.name)
    return PlaceRows(axis, int(random.integers(shape[axis] - count + 1))), [x, rows]


def pad(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 5)))
    pads = tuple(int(size) for size in random.integers(0, 4, 2 * len(shape)))
    array = values(random, shape)
    value = float(random.choice([0.0, -1.5, np.inf])) if array.dtype == np.float32 else int(array.dtype != np.bool_) * 7
    return Pad(pads, value), [array]


def resize(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 4)), low=1)
    axis = int(random.integers(0, len(shape)))
    table = (int(random.integers(0, 6)), int(random.integers(1, 5)))
    taps = random.integers(0, shape[axis], table).astype(np.int32)
    return Resize(axis), [values(random, shape, "float32"), taps, values(random, table, "float32")]


def trilu(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(2, 4)))
    return Trilu(bool(random.integers(0, 2)), int(random.integers(-6, 7))), [values(random, shape)]


def one_hot(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(0, 3)))
    depth = int(random.integers(0, 6))
    op = OneHot(int(random.integers(0, len(shape) + 1)), depth, 0, depth)
    return op, [indices(random, shape, 9), values(random, (2,))]


def cumsum(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 4)))
    axis = int(random.integers(0, len(shape)))
    exclusive, reverse = (bool(flag) for flag in random.integers(0, 2, 2))
    dtype = str(random.choice(["float32", "int8", "uint64"]))
    return CumSum(axis, exclusive, reverse), [values(random, shape, dtype)]


def cumprod(random: Generator) -> Case:
    op, arrays = cumsum(random)
    return CumProd(**op.attributes()), arrays


def top_k(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(1, 4)))
    axis = int(random.integers(0, len(shape)))
    op = TopK(int(random.integers(0, shape[axis] + 1)), axis, bool(random.integers(0, 2)))
    x = random.integers(0, 4, shape).astype(str(random.choice(["float32", "int8", "uint64"])))
    if x.dtype == np.float32:
        x[random.random(shape) < 0.1] = np.nan
    return op, [x]


def fft(random: Generator) -> Case:
    shape = sizes(random, int(random.integers(0, 3)))
    length = 2 ** int(random.integers(1, 8))
    inverse = bool(random.integers(0, 2))
    points = values(random, (*shape, length, int(random.integers(1, 3))), "float32")
    return FFT(1.0 / length if inverse else 1.0), [points, twiddles(length, inverse)]


def matmul_nbits(random: Generator) -> Case:
    bits, block = int(random.choice([2, 4, 8])), int(random.choice([16, 32]))
    inner, columns = int(random.integers(1, 80)), int(random.integers(1, 6))
    table = (columns, -(-inner // block))
    a = values(random, (*sizes(random, int(random.integers(0, 3))), inner), "float32")
    weights = values(random, (*table, block * bits // 8), "uint8")
    zeros = random.integers(0, 2**bits, table).astype(np.uint8) if random.integers(0, 2) else None
    return MatMulNBits(inner, bits, block), [a, weights, values(random, table, "float32"), zeros]


def cast_stored(random: Generator) -> Case:
    """To and from floats of other widths: all sizes of numbers, down to zero and up to infinity."""
    stored = element(str(random.choice(list(STORED))))
    numbers = random.standard_normal(40) * 10.0 ** random.integers(-12, 6, 40)
    numbers[:6] = (0.0, -0.0, np.inf, -np.inf, np.nan, 65519.9)
    with np.errstate(over="ignore"):
        shorter = numbers.astype(stored)
    if random.integers(0, 2):
        return Cast(), [shorter]
    return Cast(stored.name), [numbers.astype(np.float32)]


def grid_sample(random: Generator) -> Case:
    rank = int(random.integers(1, 4))
    shape = (int(random.integers(1, 3)), int(random.integers(1, 4)), *sizes(random, rank, low=1))
    grid = random.uniform(-1.6, 1.6, (shape[0], *sizes(random, rank), rank)).astype(np.float32)
    grid.reshape(-1)[:: int(random.integers(5, 9))] = random.choice([np.nan, np.inf, -np.inf, 0.3])
    op = GridSample(str(random.choice(MODES)), str(random.choice(PADDINGS)), bool(random.integers(0, 2)))
    return op, [values(random, shape, "float32"), grid]


def reshape(random: Generator) -> Case:
    return Reshape((2, 1, 6)), [values(random, (3, 4))]


MAKERS: dict[str, Callable[[Generator], Case]] = {
    "Transpose": transpose,
    "Slice": slice_,
    "Expand": expand,
    "Concat": concat,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "WriteRows": write_rows,
    "PlaceRows": place_rows,
    "Pad": pad,
    "Resize": resize,
    "Trilu": trilu,
    "OneHot": one_hot,
    "CumSum": cumsum,
    "CumProd": cumprod,
    "TopK": top_k,
    "FFT": fft,
    "GridSample": grid_sample,
    "MatMulNBits": matmul_nbits,
    "Cast of stored floats": cast_stored,
    "Reshape": reshape,
}
