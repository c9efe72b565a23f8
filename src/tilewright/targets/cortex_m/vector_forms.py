"""Convolutions and products of bytes, or of elements of 16 bits, as kernels for vectors of 16 bytes want them.

Weights are arranged so that one pointer walks along them; bias, factors and exponents have a value for each filter, in
the order of the kernel, and zero points are part of the bias, also where there is padding.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

import numpy as np

from tilewright.ir.op import Params
from tilewright.ir.types import BYTES, Array, TensorType
from tilewright.ops._linear import NARROW
from tilewright.ops._packing import Packing
from tilewright.ops._rearranged import FoldedConv, FoldedProduct
from tilewright.target.params import params_of

FILTERS, VECTOR, LANES = 4, 16, 4
"""TW_FILTERS, bytes of a vector, TW_LANES in C."""
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


# ---- arrangements ---------------------------------------------------------------------------------------------------


def lane_order(channels: int, vector: int = VECTOR) -> Array:
    """The channels in the order in which totals of depthwise convolutions come."""
    order: list[int] = []
    for first in range(0, channels, vector):
        step = 2 if min(channels - first, vector) <= HALF else 4
        order += [first + lane + step * i for lane in range(step) for i in range(LANES)]
        order += range(first + step * LANES, first + vector)
    return np.array(order)


def in_lanes(values: Array, vector: int = VECTOR) -> Array:
    order = lane_order(len(values), vector)
    return np.pad(values, (0, len(order) - len(values)))[order].astype(np.int32)


def out_of_lanes(values: Array, channels: int, vector: int = VECTOR) -> Array:
    plain = np.empty_like(values)
    plain[lane_order(channels, vector)] = values
    return plain[:channels]


# ---- operators ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorForm(FoldedConv):
    images: ClassVar[frozenset[str]] = ELEMENTS
    way: RequantForm = RequantForm.ANY
    """That requantisations go."""
    vector: int = VECTOR
    """Elements of one."""

    @property
    @abstractmethod
    def packing(self) -> Packing:
        """Of weights."""

    @abstractmethod
    def packed_values(self, values: Array) -> Array:
        """Of values that each filter has."""

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {"conv": params_of(self.conv, self.plain_types(types)), "way": int(self.way), "strip": 0}


@dataclass(frozen=True)
class VectorConv(VectorForm):
    @property
    def packing(self) -> Packing:
        return Packing(self.conv.groups, FILTERS, self.vector)

    def plain_weights(self, W: Array, channels: int) -> Array:
        return self.packing.unpack(W, self.filters // self.conv.groups, math.prod(self.kernel) * channels)

    def plain_values(self, values: Array) -> Array:
        return self.packing.plain(values, self.filters // self.conv.groups)

    def packed_values(self, values: Array) -> Array:
        return self.packing.fill(values).astype(np.int32)


@dataclass(frozen=True)
class VectorDepthwise(VectorForm):
    """One filter for each channel; taps of bytes are even, with one of zeros if need be."""

    @property
    def packing(self) -> Packing:
        return Packing(block=self.vector, multiple=2 if self.vector == VECTOR else 1)

    def plain_weights(self, W: Array, channels: int) -> Array:
        return self.packing.unpack(W, self.filters, math.prod(self.kernel))

    def plain_values(self, values: Array) -> Array:
        return out_of_lanes(values, self.filters, self.vector)

    def packed_values(self, values: Array) -> Array:
        return in_lanes(values, self.vector)


@dataclass(frozen=True)
class VectorProduct(FoldedProduct):
    form: VectorConv = field(default_factory=VectorConv)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return params_of(self.form, self.as_image(types))
