"""Where the maxima of a MaxPool stand: their positions in the whole tensor, as ONNX counts them."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tilewright.ir.types import Array, Shape
from tilewright.ops._compose import Compose
from tilewright.ops._loops import row_major
from tilewright.ops._pool import Pool
from tilewright.ops._reduction import lowest
from tilewright.ops._spatial import pad_spans
from tilewright.ops._windows import reach
from tilewright.ops.argmax import ArgMax
from tilewright.ops.gather import Gather
from tilewright.ops.max import Max
from tilewright.ops.pad import Pad


def positions_of_maxima(make: Compose, x: str, pool: Pool, columns_first: bool) -> str:
    """The tap with the largest element of each window, and from it the position."""
    n, channels, *spatial = make.shape(x)
    walk = zip(spatial, pad_spans(pool.padding), pool.kernel, pool.dilations, pool.strides, strict=True)
    outs = tuple((size + sum(pads) - reach(taps, d)) // stride + 1 for size, pads, taps, d, stride in walk)
    steps = tuple(row_major(tuple(spatial[::-1]))[::-1]) if columns_first else tuple(row_major(tuple(spatial)))
    taps = list(itertools.product(*map(range, pool.kernel)))
    padded = _padded(make, x, pool)
    seen = make.join(0, *(_seen_by(make, padded, pool, tap, outs) for tap in taps))
    jumps = [sum(t * d * step for t, d, step in zip(tap, pool.dilations, steps, strict=True)) for tap in taps]
    table = make.constant(np.asarray(jumps, np.int64), "jumps")
    jump = make(Gather(0), table, make.reshape(make(ArgMax(0), seen), (n, channels, *outs)))
    planes = np.arange(n * channels, dtype=np.int64).reshape(n, channels, *(1 for _ in outs)) * math.prod(spatial)
    return make.add(
        make.add(jump, make.constant(_starts(pool, outs, steps), "starts")), make.constant(planes, "planes")
    )


def _padded(make: Compose, x: str, pool: Pool) -> str:
    if not any(pool.padding):
        return x
    starts, ends = pool.padding[: pool.rank], pool.padding[pool.rank :]
    above = _above_padding(make, x)
    return make(Pad((0, 0, *starts, 0, 0, *ends), lowest(make.kind(above).element)), above)


def _above_padding(make: Compose, x: str) -> str:
    """The elements in a type that has a value below all of them: padding is never where the maximum is."""
    element = make.kind(x).element
    if np.issubdtype(element, np.integer):
        return make.cast(x, "int32" if element.itemsize < np.dtype(np.int32).itemsize else "int64")
    wide = make.cast(x, "float64" if element == np.float64 else "float32")
    return make(Max(), wide, make.like(float(np.finfo(make.kind(wide).element).min), wide))


def _seen_by(make: Compose, padded: str, pool: Pool, tap: Shape, outs: Shape) -> str:
    """[1, n, c, ...]: what one tap of each window sees."""
    firsts = [t * d for t, d in zip(tap, pool.dilations, strict=True)]
    ranges = {
        2 + axis: (first, first + (out - 1) * stride + 1, stride)
        for axis, (first, out, stride) in enumerate(zip(firsts, outs, pool.strides, strict=True))
    }
    part = make.parts(padded, ranges)
    return make.reshape(part, (1, *make.shape(part)))


def _starts(pool: Pool, outs: Shape, steps: Shape) -> Array:
    """The position of each window's first tap in its plane."""
    total = np.zeros(outs, np.int64)
    for axis, (out, stride, step) in enumerate(zip(outs, pool.strides, steps, strict=True)):
        along = (np.arange(out) * stride - pool.padding[axis]) * step
        total += along.reshape(-1, *(1,) * (len(outs) - 1 - axis))
    return total
