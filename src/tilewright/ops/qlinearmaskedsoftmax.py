from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.requant import NO_CHANGE, Requant, shift_right
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import broadcast, broadcast_index
from tilewright.ops._internal import Internal
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.qlinearsoftmax import NUMERATOR_BITS
from tilewright.records import dataclass

FINE_BITS = 15
"""One is 2**FINE_BITS in the fine table."""


@dataclass(frozen=True)
class QLinearMaskedSoftmax(Internal):
    """Softmax along rows of the integers that a mask shows (1), by tables of exponentials; others (0) have no share.

    y = clamp(round(e * (numerator // sum(e)) / 2**shift) + zero_point), where e = table[d] for bytes at the distance
    d = largest shown - x. For 16 bits e = (coarse[d >> bits] * fine[d's lower bits]) >> FINE_BITS, and 0 behind the end
    of the coarse table; both are one operand, the coarse one first.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "mask", "table")
    roundings: ClassVar[frozenset[Rounding]] = PLAIN
    numerator: int = 1
    requant: Requant = NO_CHANGE
    bits: int = 0
    """Of the distance that the fine table is for; 0 for bytes."""

    def index(self, shapes: Shapes) -> Index:
        axes, table = axis_loops(len(shapes["X"])), (whole(shapes["table"][0]),)
        return {"X": axes, "mask": broadcast_index(shapes["mask"], shapes["X"]), "table": table, "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['X']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, mask = types["X"], types["mask"]
        if kind.dtype not in ("int8", "uint8", "int16"):
            raise Refusal(f"X is {kind.dtype}; tables of exponentials are for int8, uint8 and int16")
        if self.bits not in (range(1, 16) if kind.dtype == "int16" else (0,)):
            raise Refusal(f"a fine table for {self.bits} bits of {kind.dtype}")
        least = (1 << self.bits) + 1 if self.bits else ENTRIES
        if types["table"].dtype != "int32" or len(types["table"].shape) != 1 or types["table"].elements < least:
            raise Refusal(f"the table is {types['table']}; at least {least} entries of int32 are expected")
        if mask.dtype != "uint8" or not kind.shape or mask.shape[-1:] != kind.shape[-1:]:
            raise Refusal(f"the mask is {mask}; rows of uint8 like those of {kind} are expected")
        if broadcast([mask.shape, kind.shape]) != kind.shape:
            raise Refusal(f"a mask of shape {mask.shape} for a tensor of shape {kind.shape}")
        if not 0 < self.numerator < 2**NUMERATOR_BITS:
            raise Refusal(f"numerator {self.numerator} has more than {NUMERATOR_BITS} bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array, mask: Array, table: Array) -> Array:
        shown = np.broadcast_to(mask != 0, X.shape)
        wide = np.where(shown, X.astype(np.int64), -(2**15))
        distance = np.where(shown, wide.max(-1, keepdims=True, initial=-(2**15)) - wide, 0)
        powers = np.where(shown, self.powers(distance, table.astype(np.int64)), 0)
        share = self.numerator // np.maximum(powers.sum(-1, keepdims=True), 1)
        value = shift_right(powers * share, self.requant.shift, self.requant.rounding) + self.requant.zero_point
        return np.asarray(np.clip(value, self.requant.low, self.requant.high), self.requant.dtype)

    def powers(self, distance: Array, table: Array) -> Array:
        if not self.bits:
            return table[distance]
        coarse, fine = table[: -(1 << self.bits)], table[-(1 << self.bits) :]
        at = np.minimum(distance >> self.bits, len(coarse) - 1)
        found = (coarse[at] * fine[distance & ((1 << self.bits) - 1)]) >> FINE_BITS
        return np.where(distance >> self.bits < len(coarse), found, 0)
