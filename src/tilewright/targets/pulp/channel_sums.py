"""Kernels of sums over all axes but the last one, of products."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tilewright.ir.op import Op, Params
from tilewright.ir.types import Array
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.channel_sums_operator import CHANNELS, ProductSum
from tilewright.targets.pulp.sizes import by_cores

TOGETHER = 4
"""Channels of a tile: the DMA takes long for shorter pieces of rows."""
SIZES = ((3, 16), (40, 16), (200, 8), (25, 64), (1000, 4), (400, 16), (64, 3), (100, 37), (300, 33))
"""Rows and channels of samples."""


def params(op: Op, types: Types) -> Params:
    *rows, channels = types["A"].shape
    return {"rows": math.prod(rows), "channels": channels}


def features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, runs of four channels and single ones, their rows, and results of a core."""
    *outer, channels = extents.values()
    rows = up(math.prod(outer), cores)
    quads, others = divmod(channels, 4)
    return 1.0, float(quads + others), float(rows * quads), float(rows * others), float(up(channels, cores))


def samples() -> Iterator[tuple[Op, list[Array | None]]]:
    for shape in SIZES:
        yield ProductSum(), [np.ones(shape, np.float32), np.ones(shape, np.float32)]


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            ProductSum, "product_sum_rows.c", "A:float32 B:float32 -> Y:float32", {}, params,
            by_cores("tw_channel_sums_scratch", cores), cooperative=True, features=features, samples=samples,
            header="channel_sums.h", multiples={CHANNELS: TOGETHER},
        ),
    )  # fmt: skip
