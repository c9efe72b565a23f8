"""Depthwise convolutions with windows of 3 x 3: weights in the order in which pairs of them are taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from tilewright.ir.affine import whole
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._linear import NARROW
from tilewright.ops._rearranged import RearrangedConv
from tilewright.ops.conv import Conv
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.paired import filters_of
from tilewright.targets.cortex_m.ways import NAMES, from_one_by_one

ORDER = (0, 3, 2, 5, 6, 1, 8, 4, 7)
"""Outer weights of rows 0 and 1; those of row 2 between the middle ones of rows 0 and 1; the middle one of row 2."""
BYTES = 12
"""Of a filter: three words."""
SIDE = 3
TWO_ROWS = 2
"""Results of so many rows are computed together."""


@dataclass(frozen=True)
class WindowConv(RearrangedConv):
    """A convolution, channels second, one channel in each group; F has what filters add and are scaled by (`ways`).
    Padding has the value `conv.x_zero`, which is not subtracted."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "F")
    way: str = "twice"
    conv: Conv = field(default_factory=Conv)

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        result = {"Y": shapes["Y"]} if "Y" in shapes else {}
        return {"X": shapes["X"], "W": (shapes["W"][0], 1, SIDE, SIDE), **result}

    def index(self, shapes: Shapes) -> Index:
        found = self.conv.index(self.plain_shapes(shapes))
        constants = {name: tuple(map(whole, shapes[name])) for name in ("W", "F")}
        return {"X": found["X"], **constants, "Y": found["Y"]}

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        filters = types["W"].shape[0]
        each = TensorType("int32", (filters,))
        kept = {name: kind for name, kind in types.items() if name in ("X", "Y")}
        return {**kept, "W": TensorType("int8", (filters, 1, SIDE, SIDE)), "B": each, "mul": each, "add": each}

    def numpy(self, X: Array, W: Array, F: Array) -> Array:
        weights = np.zeros((len(W), SIDE * SIDE), np.int8)
        weights[:, ORDER] = W[:, : SIDE * SIDE]
        found = from_one_by_one(F, self.conv.requant, self.way)
        bias = found.start + self.conv.x_zero * weights.astype(np.int32).sum(1)
        window = weights.reshape(-1, 1, SIDE, SIDE)
        return self.conv.numpy(X, window, bias.astype(np.int32), found.mul, found.add)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {"conv": self.conv.params(self.plain_types(types)), "way": NAMES.index(self.way), "image_last": 0}


def window_conv(graph: Graph, node: Node) -> Offer | None:
    """A depthwise convolution of bytes with constants and windows of 3 x 3, one apart, or columns two apart."""
    op, operands = node.op, node.operands()
    weights = graph.constants.get(operands.get("W", ""))
    if not isinstance(op, Conv) or weights is None or op.channels_last or min(op.padding) < 0:
        return None
    x, y = graph.types[operands["X"]], graph.types[node.outputs[0]]
    if x.dtype not in NARROW or op.groups == 1 or weights.shape[1:] != (1, SIDE, SIDE) or set(op.dilations) != {1}:
        return None
    if not (op.strides == (1, 1) or op.strides[1] == 2) or min(y.shape[2:]) < TWO_ROWS:
        return None
    rows = weights.reshape(len(weights), -1).astype(np.int64) - op.w_zero
    filters = filters_of(graph, operands, "B", rows, op.x_zero, x.dtype)
    way = "totals" if filters is None else filters.way(op.requant)
    if filters is None or way == "totals":
        return None
    words = np.pad(rows[:, ORDER], [(0, 0), (0, BYTES - len(ORDER))]).astype(np.int8)
    made = {f"{node.key}_windows": words, f"{node.key}_filters": filters.one_by_one(op.requant, way)}
    return Offer(WindowConv(way, replace(op, w_zero=0)), (operands["X"], *made), made)
