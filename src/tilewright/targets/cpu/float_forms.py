"""Convolutions and products of floats with their constants in the order in which kernels for vectors read them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from tilewright.errors import Refusal, instance
from tilewright.ir.affine import Box, axis_loops, loops
from tilewright.ir.length import Length
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._activation import activated
from tilewright.ops._internal import Internal
from tilewright.ops._packing import unpack_rows
from tilewright.ops._rearranged import FoldedConv
from tilewright.ops._windows import pair, reach
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.target.params import params_of
from tilewright.target.structs.common import activation_params

SMALL_BLOCK, LARGE_BLOCK = 32 * 1024, 256 * 1024
"""Bytes of factors and results that are worked on at a time: they stay in the level-1 cache, or in the level-2 cache
where all weights, which pass by once for each block, are more than that."""
FEWEST_WINDOWS, MOST_WINDOWS = 48, 1536
"""Of such a block."""
LINE = 16
"""Channels of a line of memory."""
TAP_LINES = 600
"""Of the level-1 cache, that some channels go through before the next ones do."""
WHOLE_TILES = 24
"""What tiles of any processor divide."""
PACKED_WIDTH, PACKED_PANELS = 16, 3
"""Columns of a panel from which on windows are copied before they are multiplied, and panels that share a copy: with
shorter vectors, or for fewer panels, it takes longer than it saves."""
NEAR_WINDOWS, FAR_WINDOWS, NEAR_BYTES = 56, 112, 512 * 1024
"""Windows that are copied at a time, whole tiles: more where the weights are more than stay in a level-2 cache."""


def panels(width: int) -> str:
    """The order of filters side by side."""
    return f"(g f/{width}) k f:{width}"


def tap_by_tap(lanes: int) -> str:
    """The order of taps with all channels, which are whole vectors."""
    return f"k (g/{lanes} g:{lanes} f)"


@dataclass(frozen=True)
class FloatForm(FoldedConv):
    """A convolution, channels last. B has a value for each filter."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B")

    @abstractmethod
    def plain_rows(self, W: Array) -> Array:
        """[filters, taps * channels]"""

    def plain_bias(self, B: Array) -> Array:
        """A value for each filter."""
        return B[: self.filters]

    @property
    def activation(self) -> Op | None:
        return self.conv.activation

    def check(self, types: Mapping[str, TensorType]) -> None:
        if any(kind.dtype != "float32" for kind in types.values()):
            raise Refusal("floats are expected")
        self.conv.check(self.plain_types(types))

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def numpy(self, X: Array, W: Array, B: Array) -> Array:  # type: ignore[override]  # there are no others
        weights = self.plain_rows(W).reshape(self.filters, *self.kernel, X.shape[-1] // self.conv.groups)
        made: Array = self.conv.numpy(X, weights, self.plain_bias(B))
        return made


@dataclass(frozen=True)
class PanelConv(FloatForm):
    """Some filters side by side, element of the window after element."""

    def plain_rows(self, W: Array) -> Array:
        _, length, width = W.shape
        return unpack_rows(panels(width), W, self.conv.groups, self.filters // self.conv.groups, length)

    def plain_bias(self, B: Array) -> Array:
        return B.reshape(self.conv.groups, -1)[:, : self.filters // self.conv.groups].reshape(-1)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        fields, padded = _panel_params(self, types), any(self.conv.padding)
        inner, width = math.prod(self.kernel) * number(fields, "in_channels"), types["W"].shape[-1]
        packs = copies_rows(width, number(fields, "out_channels"))
        rows = _packed_rows(fields, inner) if packs else _rows_at_a_time(fields, padded, inner)
        read = _read_in(self, fields, rows, padded)
        return {**fields, "rows": rows, "packs": int(packs), **read, **activation_params(self.activation)}


def _panel_params(op: PanelConv, types: Mapping[str, TensorType]) -> Params:
    """Of the convolution; where all pixels are alike, they are rows of one pixel each."""
    known = params_of(op.conv, op.plain_types(types))
    names = "batch groups in_h in_w out_h out_w stride_h stride_w in_channels out_channels pad_top pad_left"
    fields: Params = {name: known[name] for name in names.split()}
    if math.prod(op.kernel) == 1 and set(op.conv.strides) == {1} and not any(op.conv.padding):
        pixels = math.prod(types["Y"].shape[:-1])
        fields |= {"batch": 1, "in_h": pixels, "in_w": 1, "out_h": pixels, "out_w": 1}
    return fields


def _rows_at_a_time(fields: Params, padded: bool, inner: int) -> int:
    width, height = number(fields, "out_w"), number(fields, "out_h")
    filters = number(fields, "groups") * number(fields, "out_channels")
    channels = number(fields, "groups") * number(fields, "in_channels")
    row_bytes = 4 * (channels * number(fields, "in_w") * number(fields, "stride_h") + filters * width)
    is_small = 4 * filters * inner <= LARGE_BLOCK and not padded
    block = SMALL_BLOCK if is_small else LARGE_BLOCK
    fewest = -(-FEWEST_WINDOWS // max(width, 1))
    rows = max(fewest, min(block // max(row_bytes, 1), MOST_WINDOWS // max(width, 1)))
    even = rows // WHOLE_TILES * WHOLE_TILES if width == 1 else rows
    # A height that the caller says has to follow one expression: the lesser of two numbers.
    return height if (even if isinstance(height, Length) else rows) >= height else even


def copies_rows(width: int, filters: int) -> bool:
    """Whether windows are copied before panels of so many columns are multiplied with them."""
    return width >= PACKED_WIDTH and filters > (PACKED_PANELS - 1) * width


def _packed_rows(fields: Params, inner: int) -> int:
    """Rows of results at a time, about as many each time."""
    width, height = number(fields, "out_w"), number(fields, "out_h")
    weights = 4 * number(fields, "groups") * number(fields, "out_channels") * inner
    windows = NEAR_WINDOWS if weights <= NEAR_BYTES else FAR_WINDOWS
    blocks = -(-height // max(windows // max(width, 1), 1))
    return -(-height // max(blocks, 1))


def _read_in(op: PanelConv, fields: Params, rows: int, padded: bool) -> Params:
    """Which pixels some rows of results need, and where the parts of a window are among them."""
    (kernel_h, kernel_w), (dilation_h, dilation_w) = pair(op.kernel), pair(op.conv.dilations)
    width = (number(fields, "out_w") - 1) * number(fields, "stride_w") + reach(kernel_w, dilation_w)
    band_w = width if padded else number(fields, "in_w")
    channels = number(fields, "in_channels")
    pixel = number(fields, "groups") * channels
    joined = dilation_w == 1 and fields["groups"] == 1
    taps = [
        (row * dilation_h * band_w + column * dilation_w) * pixel
        for row in range(kernel_h)
        for column in range(1 if joined else kernel_w)
    ]
    return {
        "inner": kernel_h * kernel_w * channels, "padded": int(padded), "band_w": band_w,
        "band_h": (rows - 1) * number(fields, "stride_h") + reach(kernel_h, dilation_h),
        "parts": len(taps), "length": kernel_w * channels if joined else channels, "part_at": taps,
    }  # fmt: skip


def number(fields: Params, name: str) -> int:
    return instance(fields[name], int)


@dataclass(frozen=True)
class TapConv(FloatForm):
    """One filter for each channel; all channels of a tap side by side."""

    def plain_rows(self, W: Array) -> Array:
        return unpack_rows(tap_by_tap(W.shape[1]), W, self.filters, 1, len(W))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        known = params_of(self.conv, self.plain_types(types))
        names = "batch in_h in_w out_h out_w kernel_h kernel_w stride_h stride_w dilation_h dilation_w pad_top pad_left"
        fields: Params = {name: known[name] for name in names.split()}
        first, end = _columns_inside(fields)
        lines, rows = _lines_and_rows(fields)
        return {
            **fields, "channels": self.filters, "first": first, "end": end, "three": _stride_of_three(self, fields),
            "line": LINE * lines, "rows": rows, **activation_params(self.activation),
        }  # fmt: skip


def _lines_and_rows(fields: Params) -> tuple[int, int]:
    """Lines of channels that rows of results are computed of at a time, as many as the rows of a window have in the
    nearest cache; and how many rows before the next channels."""
    in_w, out_w, kernel_h, stride_h = (number(fields, name) for name in ("in_w", "out_w", "kernel_h", "stride_h"))
    lines = max(1, TAP_LINES // (kernel_h * in_w + out_w))
    return lines, max(1, min(TAP_LINES // (lines * (in_w * stride_h + out_w)), number(fields, "out_h")))


def _stride_of_three(op: TapConv, fields: Params) -> int:
    stride, results = number(fields, "stride_w"), number(fields, "out_w")
    beyond = (results - 1) * stride - number(fields, "pad_left") + 3 - number(fields, "in_w")
    fits = max(beyond, number(fields, "pad_left")) <= 1 and stride <= 2
    return stride if pair(op.kernel) == (3, 3) and fields["dilation_w"] == 1 and fits else 0


def _columns_inside(fields: Params) -> tuple[int, int]:
    """Columns of results whose windows have no padding on the left or right."""
    stride, before, results = (number(fields, name) for name in ("stride_w", "pad_left", "out_w"))
    spanned = reach(number(fields, "kernel_w"), number(fields, "dilation_w"))
    first = min(-(-before // stride), results)
    return first, max(first, min((number(fields, "in_w") + before - spanned) // stride + 1, results))


@dataclass(frozen=True)
class PanelProduct(Internal):
    """Rows times a constant matrix: a convolution of one tap with as many pixels as there are rows."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B")
    multiplies: ClassVar[bool] = True
    columns: int = 1
    activation: Op | None = None

    def index(self, shapes: Shapes) -> Index:
        """Panels of the matrix are a loop. The last may reach beyond the columns."""
        rows = axis_loops(len(shapes["X"]) - 1)
        panel, lane, k = loops("p l k")
        column = panel * shapes["W"][-1] + lane
        return {"X": (*rows, k), "W": (panel, k, lane), "B": (column,), "Y": (*rows, column)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        rows = {f"d{axis}": size for axis, size in enumerate(shapes["X"][:-1])}
        panels, inner, width = shapes["W"]
        return {**rows, "p": panels, "l": width, "k": inner}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"l", "k"})

    def at(self, shapes: Shapes, box: Box) -> Op:
        first, end = (min(panel * shapes["W"][-1], self.columns) for panel in box["p"])
        return replace(self, columns=end - first)

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"]) * self.columns

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return ((*shapes["X"][:-1], self.columns),)

    def check(self, types: Mapping[str, TensorType]) -> None:
        if any(kind.dtype != "float32" for kind in types.values()):
            raise Refusal("floats are expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def numpy(self, X: Array, W: Array, B: Array) -> Array:
        product = X @ unpack_rows(panels(W.shape[2]), W, 1, self.columns, W.shape[1]).T
        return activated(self.activation, product + B[: self.columns])

    def params(self, types: Mapping[str, TensorType]) -> Params:
        """Those of the convolution."""
        conv = PanelConv(self.columns, (1, 1), Conv(channels_last=True, activation=self.activation))
        x = types["X"].shape
        image = {"X": (1, math.prod(x[:-1]), 1, x[-1]), "Y": (1, math.prod(x[:-1]), 1, self.columns)}
        return params_of(
            conv, {name: TensorType(kind.dtype, image.get(name, kind.shape)) for name, kind in types.items()}
        )
