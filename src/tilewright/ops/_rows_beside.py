"""Walks over the rows of a tensor beside the rows of another that broadcasts with it."""

from __future__ import annotations

from tilewright.ir.op import Params
from tilewright.ir.types import Shape
from tilewright.ops._loops import broadcast_strides, merge_loops


def rows_beside(shape: Shape, other: Shape) -> Params:
    """Loops from row to row, which lie along the last axis, with strides of both tensors in elements."""
    *outer, length = shape
    strides = {name: broadcast_strides(rows, tuple(outer)) for name, rows in (("a", shape[:-1]), ("b", other[:-1]))}
    sizes, merged = merge_loops(outer, strides)
    steps = {f"stride_{name}": tuple(step * length for step in merged[name]) for name in merged}
    return {"rank": len(sizes), "size": sizes, **steps}
