"""Small networks with a cache of rows that grows from call to call."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.fusedattention import FusedAttention
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
    b.set_next_state("cache", after)
    return b.build()


def remembering(held: int = 9, queries: int = 2, heads: int = 2, length: int = 4) -> Graph:
    """Attention over the keys and values of all calls: tokens first, as many heads of queries as of keys."""
    b = Builder("remembering")
    q, k, v = (b.input(name, TensorType("float32", (1, queries, heads, length))) for name in "qkv")
    position = b.input("position", TensorType("int32", (1,)))
    kept = []
    for name, rows in (("keys", k), ("values", v)):
        before = b.state(name, np.zeros((1, held, heads, length), np.float32))
        (after,) = b(WriteRows(), [before, rows, position])
        b.set_next_state(name, after)
        kept.append(after)
    (y,) = b(FusedAttention(causal=True, scale=0.5), [q, *kept, position], ["y"])
    b.output(y)
    return b.build()
