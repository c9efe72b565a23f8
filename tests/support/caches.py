"""Small networks with a cache of rows that grows from call to call."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.relu import Relu
from tilewright.ops.writerows import WriteRows


def row_cache(held: int = 8, rows: int = 2, shape: tuple[int, ...] = (3, 4), dtype: str = "int8") -> Graph:
    """The rows of all calls, each written where the call says."""
    b = Builder("row_cache")
    new = b.input("new", TensorType(dtype, (1, rows, *shape)))
    position = b.input("position", TensorType("int32", (1,)))
    before = b.state("cache", np.full((1, held, *shape), 7, dtype))
    (after,) = b(WriteRows(), [before, new, position])
    (y,) = b(Relu(), [after], ["y"])
    b.output(y)
    b.becomes("cache", after)
    return b.build()
