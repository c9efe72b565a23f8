"""What the cycles of masked shares grow with, and cases to measure them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import cast

import numpy as np

from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array
from tilewright.ops._scaling import Scaling
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Types
from tilewright.targets.pulp.elementwise_features import is_high
from tilewright.targets.pulp.masked_softmax_operator import MaskedSoftmax
from tilewright.targets.pulp.score_tables import course

USUAL_DISTANCE = 64
"""By how much a mask usually lowers scores at least: where that is enough for exponentials of 0, there is no work."""


def dense_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows, columns that a mask is looked up for, elements, those whose products with a reciprocal do not fit
    32 bits, and those left of words."""
    own, columns, elements, looked_up = _sizes(extents, cores)
    high = elements * is_high(cast(MaskedSoftmax, op).softmax)
    return 1.0, own, looked_up, elements, high, own * (columns % 4)


def features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """As dense_features(), but elements are those that are seen, and there are those that are hidden and yet count, and
    words of longer rows. What a mask hides is known when it runs: one with several rows is taken to be a triangle."""
    softmax = cast(MaskedSoftmax, op).softmax
    own, columns, elements, looked_up = _sizes(extents, cores)
    seen = elements / 2 if types["M"].shape[-2:-1] > (1,) else elements
    hidden = 0.0 if course(softmax).gone <= USUAL_DISTANCE else elements - seen
    words = (seen + hidden) * (types["A"].shape[-1] // 4 - 1)
    return 1.0, own, looked_up, seen, hidden, seen * is_high(softmax), own * (columns % 4), words


def _sizes(extents: Extents, cores: int) -> tuple[float, int, float, float]:
    """A core's rows, their columns, elements, and columns of the mask that it looks up."""
    columns = extents["n"]
    heads = prod(size for loop, size in extents.items() if loop not in ("m", "n", "k"))
    own = up(extents["m"] * heads, cores)
    return float(own), columns, float(own * columns), float(up(own, heads) * columns)


SOFTMAXES = ((14, 19, 192), (63, 85, 3770), (6, 8, 31), (23, 31, 489))
SHAPES = (
    (16, 1, 65, 4),
    (16, 8, 64, 4),
    (4, 24, 64, 4),
    (16, 4, 40, 4),
    (3, 5, 31, 4),
    (8, 16, 16, 4),
    (4, 16, 64, 32),
)
"""Heads, rows, columns, and length of the rows that are multiplied."""


def samples(shapes: Iterable[tuple[int, int, int, int]] = SHAPES) -> Iterator[tuple[Op, list[Array | None]]]:
    def scaling(mul: int) -> Scaling:
        return Scaling(mul, 0, full_range(16, "int8"))

    random = np.random.default_rng(5)
    for ln2, b, c in SOFTMAXES:
        for heads, rows, columns, length in shapes:
            of_factors = (heads, rows, length), (heads, columns, length)
            factors = [random.integers(-100, 100, shape).astype(np.int8) for shape in of_factors]
            hidden = np.arange(columns) >= (np.arange(rows)[:, None] + 1) * columns // rows
            masking = RequantizedAdd(*map(scaling, (32768, 90_000, 65536)))
            softmax = iSoftmax(ln2=ln2, b=b, c=c, out=scaling(80_000))
            mask = np.where(hidden, np.int8(-128), np.int8(0))
            yield MaskedSoftmax(scaling(1600 // length), masking, softmax), [*factors, mask]
