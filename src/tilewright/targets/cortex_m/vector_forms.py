"""Convolutions and products of bytes, or of elements of 16 bits, as kernels for vectors of 16 bytes want them.

Weights are arranged so that one pointer walks along them; bias, factors and exponents have a value for each filter, in
the order of the kernel, and zero points are part of the bias, also where there is padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from typing import ClassVar

import numpy as np

from tilewright.ir.op import Params
from tilewright.ir.types import BYTES, Array, TensorType
from tilewright.ops._linear import NARROW
from tilewright.ops._packing import Packing
from tilewright.ops._rearranged import FoldedConv, FoldedProduct
from tilewright.records import dataclass
from tilewright.target.params import params_of

FILTERS, VECTOR = 4, 16
"""TW_FILTERS in C; bytes of a vector."""
HALF = VECTOR // 2
ELEMENTS = NARROW | {"int16"}
"""That vectors are made of."""


def elements(dtype: str) -> int:
    """Of a vector: TW_VECTOR in C."""
    return VECTOR // BYTES[dtype]


class RequantForm(IntEnum):
    """`tw_vector_way` in C, which says what they are."""

    UP = 0
    SHORT = 1
    ANY = 2
    ONCE = 3


@dataclass(frozen=True)
class VectorForm(FoldedConv):
    images: ClassVar[frozenset[str]] = ELEMENTS
    way: RequantForm = RequantForm.ANY
    """That requantisations go."""
    vector: int = VECTOR
    """Elements of one."""

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {"conv": params_of(self.conv, self.plain_types(types)), "way": int(self.way), "strip": 0}


@dataclass(frozen=True)
class VectorConv(VectorForm):
    @property
    def values_order(self) -> str:
        return f"(g f/{FILTERS} f:{FILTERS})"

    def order(self, channels: int) -> str:
        return f"(g f/{FILTERS}) k/{self.vector} f:{FILTERS} k:{self.vector}"


@dataclass(frozen=True)
class VectorDepthwise(VectorForm):
    """One filter for each channel; taps of bytes are even, with one of zeros if need be. TW_LANES in C is 4."""

    def order(self, channels: int) -> str:
        return "g/16 (k/2 k:2) (g:16 f)" if self.vector == VECTOR else "g/8 k (g:8 f)"

    def packed_values(self, values: Array) -> Array:
        """In the order in which totals come."""
        parts = [packing.pack(values[first:end]) for packing, first, end in self._parts()]
        return np.concatenate(parts).astype(np.int32)

    def plain_values(self, values: Array) -> Array:
        sizes = ((packing, first, (end - first,)) for packing, first, end in self._parts())
        return np.concatenate(
            [one.unpack(values[first : first + one.stored_shape(size)[0]], size) for one, first, size in sizes]
        )

    def _parts(self) -> list[tuple[Packing, int, int]]:
        """Channels: of vectors with more than eight bytes, of others."""
        count, last = self.filters, self.filters % VECTOR
        if self.vector < VECTOR:
            return [(HALVES, 0, count)]
        fours = count - last if last <= HALF else count
        return [(FOURS, 0, fours), (TWOS, fours, count)]


FOURS, TWOS = Packing("c", "(c/16 c:4 c:16/4)"), Packing("c", "(c/16 c:16/8 c:2 c:8/2)")
HALVES = Packing("c", "(c/8 c:2 c:8/2)")


@dataclass(frozen=True)
class VectorProduct(FoldedProduct):
    form: VectorConv = field(default_factory=VectorConv)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return params_of(self.form, self.as_image(types))
