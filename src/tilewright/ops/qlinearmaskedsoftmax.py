from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index, Params
from tilewright.ir.requant import NO_CHANGE, Requant, shift_right
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import broadcast, broadcast_index
from tilewright.ops._internal import Internal
from tilewright.ops._rows_beside import rows_beside
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.qlinearsoftmax import NUMERATOR_BITS


@dataclass(frozen=True)
class QLinearMaskedSoftmax(Internal):
    """Softmax along rows of the 8-bit integers that a mask shows (1), as QLinearSoftmax; the others (0) have no share.

    y = clamp(round(e * (numerator // sum(e)) / 2**shift) + zero_point), where e = table[largest shown - x], or 0.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "mask", "table")
    numerator: int = 1
    requant: Requant = NO_CHANGE

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "mask": broadcast_index(shapes["mask"], shapes["X"]), "table": (whole(ENTRIES),), "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['X']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, mask = types["X"], types["mask"]
        if kind.dtype not in ("int8", "uint8"):
            raise Refusal(f"X is {kind.dtype}; a table of exponentials needs int8 or uint8")
        if types["table"] != TensorType("int32", (ENTRIES,)):
            raise Refusal(f"the table is {types['table']}; {ENTRIES} entries of int32 are expected")
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
        powers = np.where(shown, table[distance], 0).astype(np.int64)
        share = self.numerator // np.maximum(powers.sum(-1, keepdims=True), 1)
        value = shift_right(powers * share, self.requant.shift, self.requant.rounding) + self.requant.zero_point
        return np.asarray(np.clip(value, self.requant.low, self.requant.high), self.requant.dtype)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        shape = types["X"].shape
        return {
            "rows": rows_beside(shape, types["mask"].shape), "length": shape[-1], "numerator": self.numerator,
            "requant": self.requant.params(1),
        }  # fmt: skip
