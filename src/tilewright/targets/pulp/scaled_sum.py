"""The kernel of sums of what normalisations scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import numpy as np

from tilewright.ir.op import Op, Params
from tilewright.ir.types import Array
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.scaled_sum_operator import OPERANDS, ScaledSum

SIZES = ((1, 4), (3, 16), (40, 16), (200, 8), (25, 64), (400, 16), (64, 3), (100, 37), (300, 33))
"""Rows and channels of samples."""


def params(op: Op, types: Types) -> Params:
    *rows, channels = types["X"].shape
    return {"rows": math.prod(rows), "channels": channels, "is_positive": int(cast(ScaledSum, op).positive)}


def features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, runs of four channels and single ones, and their rows; of those with a second operand the rest."""
    *outer, channels = extents.values()
    rows = up(math.prod(outer), cores)
    quads, others = divmod(channels, 4)
    has_second, is_positive = "Z" in types, cast(ScaledSum, op).positive
    return (
        1.0, quads + others, rows * quads, rows * others, rows * quads * has_second, rows * others * has_second,
        rows * quads * is_positive, rows * others * is_positive,
    )  # fmt: skip


def samples() -> Iterator[tuple[Op, list[Array | None]]]:
    for rows, channels in SIZES:
        tensor, channel = np.ones((rows, channels), np.float32), np.ones(channels, np.float32)
        for second in ([], [tensor], [tensor, channel, channel]):
            for positive in (False, True):
                yield ScaledSum(positive), [tensor, channel, channel, *second]


KERNELS = (
    Kernel(
        ScaledSum, "scaled_sum_rows.c", f"{' '.join(name.rstrip('?') + ':float32' for name in OPERANDS)} -> Y:float32",
        {}, params, cooperative=True, features=features, samples=samples, header="scaled_sum.h",
    ),
)  # fmt: skip
