"""Convolutions and products of bytes, or of elements of 16 bits, as kernels for vectors of 16 bytes want them.

Weights are arranged so that one pointer walks along them; bias, factors and exponents have a value for each filter, in
the order of the kernel, and zero points are part of the bias, also where there is padding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

import numpy as np

from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.op import Index, Params
from tilewright.ir.types import BYTES, Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._linear import NARROW
from tilewright.ops._rearranged import MADE, FoldedConv
from tilewright.target.params import params_of

FILTERS, VECTOR, LANES = 4, 16, 4
"""TW_FILTERS, bytes of a vector, TW_LANES in C."""
HALF = VECTOR // 2
ELEMENTS = NARROW | {"int16"}
"""That vectors are made of."""


def elements(dtype: str) -> int:
    """Of a vector: TW_VECTOR in C."""
    return VECTOR // BYTES[dtype]


class Way(IntEnum):
    """`tw_vector_way` in C, which says what they are."""

    UP = 0
    SHORT = 1
    ANY = 2
    ONCE = 3


# ---- arrangements ---------------------------------------------------------------------------------------------------


def blocked(rows: Array, groups: int, vector: int = VECTOR) -> Array:
    """Rows [groups * filters, length] as [groups * blocks, vectors, FILTERS, vector]; what is missing is zero."""
    per_group = rows.reshape(groups, -1, rows.shape[1])
    filled = np.pad(per_group, [(0, 0), (0, -per_group.shape[1] % FILTERS), (0, -rows.shape[1] % vector)])
    parts = filled.reshape(-1, FILTERS, filled.shape[2] // vector, vector).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(parts.astype(np.int8))


def unblocked(blocks: Array, groups: int, filters: int, length: int) -> Array:
    rows = blocks.transpose(0, 2, 1, 3).reshape(groups, -1, blocks.shape[1] * blocks.shape[3])
    return np.ascontiguousarray(rows[:, :filters, :length].reshape(groups * filters, length))


def in_blocks(values: Array, groups: int) -> Array:
    """A value for each filter, also for those that fill up a block."""
    per_group = values.reshape(groups, -1)
    return np.pad(per_group, [(0, 0), (0, -per_group.shape[1] % FILTERS)]).reshape(-1).astype(np.int32)


def out_of_blocks(values: Array, groups: int, filters: int) -> Array:
    return np.ascontiguousarray(values.reshape(groups, -1)[:, :filters].reshape(-1))


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


def tapped(rows: Array, vector: int = VECTOR) -> Array:
    """Rows of taps [channels, taps] as [blocks, taps, vector]; taps of bytes are even, with one of zeros if need be."""
    filled = np.pad(rows, [(0, -len(rows) % vector), (0, rows.shape[1] % 2 if vector == VECTOR else 0)])
    parts = filled.reshape(-1, vector, filled.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(parts.astype(np.int8))


def untapped(parts: Array, channels: int, taps: int) -> Array:
    return np.ascontiguousarray(parts.transpose(0, 2, 1).reshape(-1, parts.shape[1])[:channels, :taps])


# ---- operators ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorForm(FoldedConv):
    images: ClassVar[frozenset[str]] = ELEMENTS
    way: Way = Way.ANY
    """That requantisations go."""
    vector: int = VECTOR
    """Elements of one."""

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {"conv": params_of(self.conv, self.plain_types(types)), "way": int(self.way), "strip": 0}


@dataclass(frozen=True)
class VectorConv(VectorForm):
    def plain_weights(self, W: Array, channels: int) -> Array:
        length = math.prod(self.kernel) * channels
        return unblocked(W, self.conv.groups, self.filters // self.conv.groups, length)

    def plain_values(self, values: Array) -> Array:
        return out_of_blocks(values, self.conv.groups, self.filters // self.conv.groups)


@dataclass(frozen=True)
class VectorDepthwise(VectorForm):
    """One filter for each channel."""

    def plain_weights(self, W: Array, channels: int) -> Array:
        return untapped(W, self.filters, math.prod(self.kernel))

    def plain_values(self, values: Array) -> Array:
        return out_of_lanes(values, self.filters, self.vector)


@dataclass(frozen=True)
class VectorProduct(Internal):
    """Rows times a constant matrix: a convolution of one tap with as many pixels as there are rows."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B", "mul?", "add?")
    multiplies: ClassVar[bool] = True
    form: VectorConv = field(default_factory=VectorConv)

    def index(self, shapes: Shapes) -> Index:
        n, k = loops("n k")
        rows = axis_loops(len(shapes["X"]) - 1)
        own = {name: tuple(map(whole, shapes[name])) for name in ("W", *MADE) if name in shapes}
        return {"X": (*rows, k), **own, "Y": (*rows, n)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        rows = {f"d{axis}": size for axis, size in enumerate(shapes["X"][:-1])}
        return {**rows, "n": self.form.filters, "k": shapes["X"][-1]}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(self.extents(shapes))

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"]) * self.form.filters

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return ((*shapes["X"][:-1], self.form.filters),)

    def check(self, types: Mapping[str, TensorType]) -> None:
        self.form.check(self._as_image(types))

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.form.result_dtypes(dtypes)

    def numpy(self, X: Array, *rest: Array, **named: Array) -> Array:
        made = self.form.numpy(X.reshape(1, 1, -1, X.shape[-1]), *rest, **named)
        return made.reshape(*X.shape[:-1], self.form.filters)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return params_of(self.form, self._as_image(types))

    def _as_image(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        """The rows as pixels of a row."""
        ends = {name: kind for name, kind in types.items() if name in ("X", "Y")}
        flat = {
            name: TensorType(kind.dtype, (1, 1, math.prod(kind.shape[:-1]), kind.shape[-1]))
            for name, kind in ends.items()
        }
        return {**types, **flat}
