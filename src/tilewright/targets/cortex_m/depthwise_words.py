"""Base of depthwise convolutions whose filters have all that is constant of them in words of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tilewright.ir.affine import whole
from tilewright.ir.op import Index
from tilewright.ir.types import Shape, Shapes, TensorType
from tilewright.ops._rearranged import RearrangedConv


class DepthwiseWords(RearrangedConv):
    """A convolution, channels second, one channel in each group; W has weights, what filters add and are scaled by.
    Padding has the value `conv.x_zero`, which is not subtracted."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W")
    kernel: Shape

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        result = {"Y": shapes["Y"]} if "Y" in shapes else {}
        return {"X": shapes["X"], "W": (shapes["W"][0], 1, *self.kernel), **result}

    def index(self, shapes: Shapes) -> Index:
        found = self.conv.index(self.plain_shapes(shapes))
        return {"X": found["X"], "W": tuple(map(whole, shapes["W"])), "Y": found["Y"]}

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        filters = types["W"].shape[0]
        each = TensorType("int32", (filters,))
        scaled = {} if self.conv.requant is None else {"mul": each, "add": each}
        kept = {name: kind for name, kind in types.items() if name in ("X", "Y")}
        return {**kept, "W": TensorType("int8", (filters, 1, *self.kernel)), "B": each, **scaled}
