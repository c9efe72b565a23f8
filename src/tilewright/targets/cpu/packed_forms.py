"""Convolutions and products of bytes with constants as kernels for vectors of any width want them.

Weights are packed so that one pointer walks along them, four bytes of each of some filters side by side. Bias, factors
and exponents have a value for each filter, zero points are part of the bias, also where there is padding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum
from typing import ClassVar

import numpy as np

from tilewright.ir.affine import Box, axis_loops, loops, whole
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.requant import Requant, shift_right
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._packing import Packing
from tilewright.ops._rearranged import MADE, FoldedConv, FoldedProduct
from tilewright.ops._windows import pair
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass
from tilewright.target.params import params_of
from tilewright.target.structs.common import requant_fields

FOUR = 4
"""Bytes that one instruction multiplies and sums."""
WHOLE_WINDOW = 8
"""Bytes that windows which are gathered are a multiple of."""
LEAST_PIECE = 16
"""Bytes side by side of a window that is read where it is, if there are several."""
LANE_COLUMNS = 16
"""Filters of a block from which on depthwise convolutions go lane by lane."""


class RequantForm(IntEnum):
    """`tw_way` in C, which says what they are."""

    ANY = 0
    NEAR = 1
    HIGH = 2
    DOUBLE = 3
    DOUBLE_UP = 4
    FLOAT = 5
    NEAR_DOUBLE = 6
    NEAR_DOUBLE_UP = 7

    @property
    def is_near(self) -> bool:
        """Whether 16 bits hold all results, which are computed while totals are in registers."""
        return self in (RequantForm.NEAR, RequantForm.NEAR_DOUBLE, RequantForm.NEAR_DOUBLE_UP)


# ---- arrangements ---------------------------------------------------------------------------------------------------


def up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


TAPS = Packing("b c h w", "b (w h/4) c h:4")
"""Windows of blocks of channels: four taps are multiplied together."""


@dataclass(frozen=True)
class Block:
    """Filters that are computed together, and the order of their weights."""

    columns: int
    by_element: bool = False
    """Whether weights of all filters for an element lie side by side; else those of a filter for four elements do."""
    has_tiles: bool = False
    """Whether the processor multiplies 16 rows with 16 filters at once."""

    @property
    def order(self) -> str:
        """The weights of a block for four elements."""
        return f"k:4 f:{self.columns}" if self.by_element else f"f:{self.columns} k:4"


def tap_grid(kernel: Shape) -> Shape:
    """Taps as [h, w]: four are those of a column where windows have that, which neighbouring pixels share."""
    return kernel if len(kernel) == 2 and 2 <= kernel[0] <= FOUR else (math.prod(kernel), 1)


def channel_blocks(channels: int, columns: int) -> list[int]:
    """The first channels of the blocks of a depthwise convolution: two rows of columns each, or one at the end."""
    if channels < columns:
        return [0]
    starts, done = [], 0
    while done < channels:
        left = channels - done
        width = columns if left <= columns or channels < 2 * columns else 2 * columns
        starts.append(min(done, channels - width))
        done = starts[-1] + width
    return starts


# ---- operators ------------------------------------------------------------------------------------------------------

THEN = ("then_mul", "then_add")
"""Operands with a value for each filter, of what follows."""


@dataclass(frozen=True)
class Then:
    """What follows where bytes are not the last results: clamp(round((bytes * then_mul + R * factor + then_add) /
    2**shift) + zero_point), which is no tie."""

    requant: Requant
    factor: int = 0

    def numpy(self, made: Array, mul: Array, add: Array, added: Array | None) -> Array:
        more = 0 if added is None else added.astype(np.int64) * self.factor
        total = made.astype(np.int64) * mul + more + add
        value = shift_right(total, self.requant.shift, self.requant.rounding) + self.requant.zero_point
        return np.asarray(np.clip(value, self.requant.low, self.requant.high), self.requant.dtype)

    def params(self) -> Params:
        return {"requant": requant_fields(self.requant), "factor": self.factor}


@dataclass(frozen=True)
class PackedForm(FoldedConv):
    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B", "mul?", "add?", "then_mul?", "then_add?", "R?")
    way: RequantForm = RequantForm.ANY
    """That requantisations go."""
    block: Block = Block(8)
    """Of depthwise convolutions half a block."""
    then: Then | None = None

    @property
    def columns(self) -> int:
        return self.block.columns

    def index(self, shapes: Shapes) -> Index:
        plain = super().index({name: shape for name, shape in shapes.items() if name not in (*THEN, "R")})
        more = {name: tuple(map(whole, shapes[name])) for name in THEN if name in shapes}
        return {**plain, **more, **({"R": plain["Y"]} if "R" in shapes else {})}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return super().result_dtypes(dtypes) if self.then is None else (self.then.requant.dtype,)

    def numpy(self, X: Array, W: Array, B: Array, *rest: Array | None, **named: Array) -> Array:
        given: dict[str, Array] = {**self.bind((X, W, B, *rest)), **named}
        made = super().numpy(X, W, B, *(given.get(name) for name in MADE[1:] if "mul" in given))
        if self.then is None:
            return made
        mul, add = (self.plain_values(given[name]) for name in THEN)
        return self.then.numpy(made, mul, add, given.get("R"))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        own: Params = {"conv": params_of(self.conv, self.plain_types(types)), "way": int(self.way)}
        return own if self.then is None else {**own, "then": self.then.params()}


@dataclass(frozen=True)
class PackedConvolution(PackedForm):
    @property
    def values_order(self) -> str:
        return f"(g f/{self.columns} f:{self.columns})"

    def order(self, channels: int) -> str:
        runs = f"(k/{WHOLE_WINDOW} k:{WHOLE_WINDOW}/4)" if self.gathers(channels) else "k/4"
        return f"(g f/{self.columns}) {runs} {self.block.order}"

    @property
    def pieces(self) -> int:
        """Of a row of a window that lie apart."""
        return self.kernel[-1] if self.conv.groups > 1 or self.conv.dilations[-1] > 1 else 1

    def gathers(self, channels: int) -> bool:
        """Whether windows are copied before they are multiplied; `channels` are those of a group."""
        window = math.prod(self.kernel) * channels
        piece = self.kernel[-1] * channels // self.pieces
        return bool(piece % FOUR) or piece < min(window, LEAST_PIECE)


@dataclass(frozen=True)
class PackedDepthwise(PackedForm):
    """One filter for each channel; blocks of channels may overlap."""

    def packed_weights(self, rows: Array) -> Array:
        """[blocks, fours, 2 * columns, FOUR]"""
        width, windows = 2 * self.columns, rows.reshape(len(rows), *tap_grid(self.kernel))
        filled = np.pad(windows, [(0, width), (0, 0), (0, 0)])
        blocks = [filled[first : first + width] for first in channel_blocks(len(rows), self.columns)]
        return TAPS.pack(np.stack(blocks).astype(np.int8))

    def plain_weights(self, W: Array, channels: int) -> Array:
        width, starts = 2 * self.columns, channel_blocks(self.filters, self.columns)
        rows = np.zeros((self.filters + width, math.prod(self.kernel)), W.dtype)
        blocks = TAPS.unpack(W, (len(starts), width, *tap_grid(self.kernel)))
        for first, block in zip(starts, blocks, strict=True):
            rows[first : first + width] = block.reshape(width, -1)
        return rows[: self.filters]


@dataclass(frozen=True)
class LaneDepthwise(PackedForm):
    """One filter for each channel, for vectors of half as many totals as a block has filters: vectors of some channels
    of a pixel, the last of which may overlap, or where a vector has more lanes than there are channels, of several
    pixels."""

    @property
    def channel_of_lanes(self) -> Array:
        """[vectors, lanes]"""
        lanes, channels = self.columns // 2, self.filters
        if channels < lanes:
            count = lanes * channels // math.gcd(lanes, channels)
            return (np.arange(count) % channels).reshape(-1, lanes)
        first = np.minimum(np.arange(0, channels, lanes), channels - lanes)
        return np.asarray(first[:, None] + np.arange(lanes))

    def packed_weights(self, rows: Array) -> Array:
        """[vectors, fours, lanes, FOUR]"""
        windows = rows.reshape(len(rows), *pair(self.kernel))
        return TAPS.pack(windows[self.channel_of_lanes].astype(np.int8))

    def plain_weights(self, W: Array, channels: int) -> Array:
        places = self.channel_of_lanes
        rows = np.zeros((self.filters, math.prod(self.kernel)), W.dtype)
        rows[places] = TAPS.unpack(W, (*places.shape, *pair(self.kernel))).reshape(*places.shape, -1)
        return rows

    def packed_values(self, values: Array) -> Array:
        return np.asarray(values[self.channel_of_lanes].reshape(-1).astype(np.int32))

    def plain_values(self, values: Array) -> Array:
        made = np.zeros(self.filters, values.dtype)
        made[self.channel_of_lanes.reshape(-1)] = values
        return made


@dataclass(frozen=True)
class TapDepthwise(PackedForm):
    """One filter for each channel: tap after tap, all channels side by side."""

    def packed_weights(self, rows: Array) -> Array:
        """[taps, channels]"""
        return np.ascontiguousarray(rows.reshape(len(rows), -1).T.astype(np.int8))

    def plain_weights(self, W: Array, channels: int) -> Array:
        return W.T


def depthwise_form(block: Block) -> type[PackedForm]:
    """The one that a processor with such blocks has a kernel for."""
    if block.by_element:
        return TapDepthwise
    return LaneDepthwise if block.columns >= LANE_COLUMNS else PackedDepthwise


@dataclass(frozen=True)
class PackedProduct(FoldedProduct):
    operands: ClassVar[tuple[str, ...]] = PackedForm.operands
    form: PackedConvolution = field(default_factory=PackedConvolution)

    def index(self, shapes: Shapes) -> Index:
        """Blocks of columns are a loop. The last may reach beyond the columns."""
        rows = axis_loops(len(shapes["X"]) - 1)
        block, lane, k = loops("p l k")
        column = block * self.form.columns + lane
        weights = (block, *map(whole, shapes["W"][1:]))
        values = {name: (column,) for name in (*MADE, *THEN) if name in shapes}
        added = {"R": (*rows, column)} if "R" in shapes else {}
        return {"X": (*rows, k), "W": weights, **values, **added, "Y": (*rows, column)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        *outer, inner = shapes["X"]
        rows = {f"d{axis}": size for axis, size in enumerate(outer)}
        return {**rows, "p": shapes["W"][0], "l": self.form.columns, "k": inner}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"l", "k"})

    def at(self, shapes: Shapes, box: Box) -> Op:
        first, end = (min(block * self.form.columns, self.form.filters) for block in box["p"])
        return replace(self, form=replace(self.form, filters=end - first))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return params_of(self.form, self.as_image(types))


@dataclass(frozen=True)
class ComputedProduct(MatMul):
    """A product of bytes that are both computed, with the way that its requantisation goes."""

    way: RequantForm = RequantForm.ANY
