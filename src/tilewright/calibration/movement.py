"""Samples of operators that move elements without computing with them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.calibration.values import TO_BYTES, Sample, values
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, Shape
from tilewright.ops._fourier import twiddles
from tilewright.ops.argmax import ArgMax
from tilewright.ops.concat import Concat
from tilewright.ops.cumprod import CumProd
from tilewright.ops.cumsum import CumSum
from tilewright.ops.expand import Expand
from tilewright.ops.fft import FFT
from tilewright.ops.gather import Gather
from tilewright.ops.gatherelements import GatherElements
from tilewright.ops.gathernd import GatherND
from tilewright.ops.gridsample import MODES, GridSample
from tilewright.ops.onehot import OneHot
from tilewright.ops.pad import Pad
from tilewright.ops.placerows import PlaceRows
from tilewright.ops.qlineargather import QLinearGather
from tilewright.ops.qlinearresize import QLinearResize
from tilewright.ops.resize import Resize
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.slice import Slice
from tilewright.ops.topk import TopK
from tilewright.ops.transpose import Transpose
from tilewright.ops.trilu import Trilu
from tilewright.ops.writerows import WriteRows

SHAPES: tuple[Shape, ...] = ((4, 6, 8), (1, 16, 64), (3, 16, 16), (16, 20, 4), (8, 3, 40), (2, 12, 30), (3, 8, 32))
DTYPES = ("float32", "int8")


def copies() -> Iterator[Sample]:
    for shape in SHAPES:
        for dtype in DTYPES:
            x = values(dtype, *shape)
            for perm in ((1, 0, 2), (0, 2, 1), (1, 2, 0)):
                yield Transpose(perm), [x]
            half = tuple(max(size // 2, 1) for size in shape)
            yield Slice((0, 0, 0), (1, 1, 1), half), [x]
            yield Expand((3, *shape)), [x]
            yield Pad((0, 1, 1, 0, 1, 1), 0), [x]
            yield Trilu(), [x]


def writes() -> Iterator[Sample]:
    """All rows are new ones: what is not written over is not copied where it stays in its place."""
    for rows, length in ((1, 16), (1, 64), (1, 256), (4, 32), (16, 64), (16, 256), (64, 64)):
        for dtype in DTYPES:
            x, first = values(dtype, 1, rows, length), np.zeros(1, np.int32)
            yield WriteRows(), [x, x.copy(), first]
            yield PlaceRows(1), [x, x.copy()]


def joins() -> Iterator[Sample]:
    for shape in SHAPES:
        for dtype in DTYPES:
            for axis in range(3):
                yield Concat(axis), [values(dtype, *shape), values(dtype, *shape)]


def _places(count: int, size: int) -> Array:
    return (np.arange(count, dtype=np.int64) * 7) % size


def gathers() -> Iterator[Sample]:
    for shape in SHAPES:
        rows, *rest = shape
        for dtype in DTYPES:
            x = values(dtype, *shape)
            yield Gather(0), [x, _places(8, rows)]
            yield Gather(2), [x, _places(8, shape[2])]
            yield GatherND(0), [x, _places(8, rows).reshape(8, 1)]
            yield GatherElements(2), [x, np.broadcast_to(_places(shape[2], shape[2]), shape).copy()]
            yield ScatterND(), [x, np.zeros((1, 1), np.int64), values(dtype, 1, *rest)]
            yield ScatterElements(axis=2), [x, np.broadcast_to(np.arange(shape[2]), shape).copy(), x]


def one_hots() -> Iterator[Sample]:
    for count, depth in ((4, 10), (16, 32), (64, 16)):
        for dtype in DTYPES:
            yield OneHot(1, depth, 0, depth), [_places(count, depth), values(dtype, 2)]


def sums_so_far() -> Iterator[Sample]:
    for shape in SHAPES:
        for dtype in ("float32", "int32", "int64"):
            yield CumSum(2), [values(dtype, *shape)]
            yield CumProd(2), [values(dtype, *shape)]


def resizes() -> Iterator[Sample]:
    for shape in SHAPES:
        for taps in (1, 2):
            places = np.stack([_places(2 * shape[1], shape[1])] * taps, axis=1).astype(np.int32)
            weights = values("float32", *places.shape)
            yield Resize(1), [values("float32", *shape), places, weights]
            yield QLinearResize(1, requant=TO_BYTES), [values("int8", *shape), places, values("int32", *places.shape)]


def searches() -> Iterator[Sample]:
    for rows, columns in ((1, 64), (16, 32), (4, 200), (64, 16)):
        for k in (1, 5):
            for dtype in ("float32", "int8", "int32", "int64"):
                yield TopK(k, 1), [values(dtype, rows, columns)]


def largest() -> Iterator[Sample]:
    for length in (64, 512, 2048, 12000):
        for dtype in ("int8", "int16", "int32"):
            yield ArgMax(1), [values(dtype, 1, length)]


def transforms() -> Iterator[Sample]:
    for rows, length in ((1, 64), (4, 64), (2, 256), (1, 512), (16, 32)):
        for parts in (1, 2):
            yield FFT(), [values("float32", rows, length, parts), twiddles(length, False)]


def samplings() -> Iterator[Sample]:
    for channels, points in ((1, 8), (3, 16), (8, 8), (16, 16)):
        grid = values("float32", 1, points, points, 2) - 1
        for mode in MODES:
            yield GridSample(mode), [values("float32", 1, channels, 12, 12), grid]


def lookups() -> Iterator[Sample]:
    """Rows of tables that are large, but not for L1."""
    for rows, length in ((256, 64), (160, 128), (640, 48), (2048, 8)):
        for count in (1, 3, 16, 64):
            yield Gather(0), [values("int8", rows, length), _places(count, rows)]
            yield Gather(0), [values("int16", rows, length), _places(count, rows)]


def scaled_lookups() -> Iterator[Sample]:
    """The same of weights, with factors of rows and columns."""
    op = QLinearGather(full_range(42, "int16"))
    for rows, length in ((256, 64), (160, 128), (640, 48), (2048, 8)):
        for count in (1, 3, 16, 64):
            factors = values("int32", rows) << 23, np.abs(values("int32", length)) << 15
            yield op, [values("int8", rows, length), _places(count, rows), *factors]


OTHERS = (
    lookups, scaled_lookups, copies, writes, joins, gathers, one_hots, sums_so_far, resizes, searches, largest,
    transforms, samplings,
)  # fmt: skip
