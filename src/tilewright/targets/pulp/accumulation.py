"""The kernel that adds up gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tilewright.ir.op import Op, Params
from tilewright.ir.types import Array
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.accumulation_operator import Accumulation

SIZES = (1, 16, 130, 640, 2000, 4096, 9000)


def params(op: Op, types: Types) -> Params:
    return {"count": types["Y"].elements}


def features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call and elements of a core."""
    return 1.0, float(up(math.prod(extents.values()), cores))


def samples() -> Iterator[tuple[Op, list[Array | None]]]:
    """Of sums that go on, which take longer."""
    for size in SIZES:
        yield Accumulation(), [np.zeros(1, np.bool_), np.ones(size, np.float32), np.ones(size, np.float32)]


KERNELS = (
    Kernel(
        Accumulation, "accumulation_shared.c", "C:bool A:float32 B:float32 -> Y:float32", {}, params, cooperative=True,
        features=features, samples=samples, header="unary.h",
    ),
)  # fmt: skip
