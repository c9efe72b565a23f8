from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._linear import NARROW
from tilewright.ops._packed import WIDTHS, few_bits, row_bytes
from tilewright.ops._rearranged import RearrangedConv
from tilewright.ops.conv import Conv
from tilewright.records import dataclass


@dataclass(frozen=True)
class PackedConv(RearrangedConv):
    """A convolution in one group with a filter of few bits in each row of W (`_packed.py`): a weight is its code plus
    `least`, which has the weights' zero point."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B?", "mul?", "add?")
    bits: int = 4
    least: int = 0
    filter: Shape = (1, 1, 1)
    """Channels and taps, as `conv` wants them."""
    conv: Conv = field(default_factory=Conv)

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        return {**shapes, "W": (shapes["W"][0], *self.filter)}

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        return {**types, "W": TensorType("int8", (types["W"].shape[0], *self.filter))}

    def index(self, shapes: Shapes) -> Index:
        found = dict(self.conv.index(self.plain_shapes(shapes)))
        return {**found, "W": (found["W"][0], whole(shapes["W"][1]))}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return self.conv.reductions(self.plain_shapes(shapes))

    def check(self, types: Mapping[str, TensorType]) -> None:
        if self.bits not in WIDTHS or self.conv.groups != 1 or self.conv.w_zero:
            raise Refusal(f"weights of {self.bits} bits in {self.conv.groups} groups", f"bits are one of {WIDTHS}")
        if types["X"].dtype not in NARROW:
            raise Refusal(f"X is {types['X'].dtype}, int8 or uint8 is expected")
        length = row_bytes(math.prod(self.filter), self.bits)
        if types["W"].dtype != "uint8" or len(types["W"].shape) != 2 or types["W"].shape[1] != length:
            raise Refusal(f"W is {types['W']}, for filters of {math.prod(self.filter)} codes of {self.bits} bits")
        self.conv.check(self.plain_types(types))

    def numpy(self, X: Array, W: Array, *rest: Array | None, **named: Array) -> Array:
        codes = few_bits(self.bits).unpack(W, (len(W), math.prod(self.filter))) + self.least
        weights = codes.reshape(-1, *self.filter).astype("int16")
        return self.conv.numpy(X, weights, *rest, **named)
