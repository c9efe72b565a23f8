from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.op import Index
from tilewright.ir.requant import NO_CHANGE, Requant
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import broadcast, broadcast_index
from tilewright.ops._internal import Internal
from tilewright.ops._qlinear import reach
from tilewright.records import dataclass

MOST_BITS = 62
"""Of two products of an element with a 16-bit number, times mul."""


@dataclass(frozen=True)
class QLinearRotate(Internal):
    """requant(((x - x_zero) * cosine + (other - x_zero) * sine) * mul) along rows: pairs of elements, turned.

    The other of an element is half a row away or, if interleaved, its neighbour. Sines have the signs of the rotation.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "cosine", "sine")
    accepts: ClassVar[frozenset[str]] = frozenset({"int8", "uint8", "int16", "uint16"})
    roundings: ClassVar[frozenset[Rounding]] = PLAIN
    interleaved: bool = False
    x_zero: int = 0
    mul: int = 1
    requant: Requant = NO_CHANGE

    def index(self, shapes: Shapes) -> Index:
        axes, table = axis_loops(len(shapes["X"])), broadcast_index(shapes["cosine"], shapes["X"])
        return {"X": axes, "cosine": table, "sine": table, "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['X']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, table = types["X"], types["cosine"]
        if kind.dtype not in self.accepts:
            raise Refusal(f"X is {kind.dtype}; supported: {', '.join(sorted(self.accepts))}")
        if not kind.shape or kind.shape[-1] % 2:
            raise Refusal(f"rows of shape {kind.shape} have no pairs")
        if types["sine"] != table or table.dtype != "int16" or table.shape[-1:] != kind.shape[-1:]:
            raise Refusal(f"cosines are {table} and sines {types['sine']}; rows of int16 like those of X are expected")
        if broadcast([table.shape, kind.shape]) != kind.shape:
            raise Refusal(f"a table of shape {table.shape} for a tensor of shape {kind.shape}")
        if reach(kind.dtype, self.x_zero) * abs(self.mul) >= 2 ** (MOST_BITS - 16):
            raise Refusal(f"{kind.dtype} around {self.x_zero} times {self.mul} may overflow 64 bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array, cosine: Array, sine: Array) -> Array:
        wide = X.astype(np.int64) - self.x_zero
        return self.requant(wide * cosine + wide[..., self.others(X.shape[-1])] * sine, np.asarray(self.mul))

    def others(self, length: int) -> Array:
        """The place of each element's other one."""
        places = np.arange(length)
        return places ^ 1 if self.interleaved else (places + length // 2) % length
