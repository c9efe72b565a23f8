from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tilewright.errors import Refusal, instance
from tilewright.ir.affine import Box, Span, whole
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._linear import NARROW
from tilewright.ops._packed import WIDTHS, row_bytes, unpacked_rows
from tilewright.ops.conv import Conv


@dataclass(frozen=True)
class PackedConv(Internal):
    """A convolution in one group with a filter of few bits in each row of W (`_packed.py`): a weight is its code plus
    `least`, which has the weights' zero point."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B?", "mul?", "add?")
    bits: int = 4
    least: int = 0
    filter: Shape = (1, 1, 1)
    """Channels and taps, as `conv` wants them."""
    conv: Conv = field(default_factory=Conv)

    # ---- geometry: that of the convolution, but for the weights -----------------------------------------------------

    def unpacked(self, shapes: Shapes) -> Shapes:
        return {**shapes, "W": (shapes["W"][0], *self.filter)}

    def index(self, shapes: Shapes) -> Index:
        found = dict(self.conv.index(self.unpacked(shapes)))
        return {**found, "W": (found["W"][0], whole(shapes["W"][1]))}

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return self.conv.padding_of(self.unpacked(shapes))

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return self.conv.reductions(self.unpacked(shapes))

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return self.conv.extents(self.unpacked(shapes))

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(self, conv=instance(self.conv.at(self.unpacked(shapes), box), Conv))

    def macs(self, shapes: Shapes) -> int:
        return self.conv.macs(self.unpacked(shapes))

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return self.conv.result_shapes(self.unpacked(shapes))

    # ---- types and meaning ------------------------------------------------------------------------------------------

    def check(self, types: Mapping[str, TensorType]) -> None:
        if self.bits not in WIDTHS or self.conv.groups != 1 or self.conv.w_zero:
            raise Refusal(f"weights of {self.bits} bits in {self.conv.groups} groups", f"bits are one of {WIDTHS}")
        if types["X"].dtype not in NARROW:
            raise Refusal(f"X is {types['X'].dtype}, int8 or uint8 is expected")
        length = row_bytes(math.prod(self.filter), self.bits)
        if types["W"].dtype != "uint8" or len(types["W"].shape) != 2 or types["W"].shape[1] != length:
            raise Refusal(f"W is {types['W']}, for filters of {math.prod(self.filter)} codes of {self.bits} bits")
        self.conv.check(self._unpacked_types(types))

    def _unpacked_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        return {**types, "W": TensorType("int8", (types["W"].shape[0], *self.filter))}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.conv.result_dtypes({**dtypes, "W": "int8"})

    def numpy(self, X: Array, W: Array, *rest: Array | None, **named: Array) -> Array:
        codes = unpacked_rows(W, math.prod(self.filter), self.bits) + self.least
        weights = codes.reshape(-1, *self.filter).astype("int16")
        return self.conv.numpy(X, weights, *rest, **named)
