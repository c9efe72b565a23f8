from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tilewright.ir.affine import Box, loops, whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._spatial import pad_spans
from tilewright.ops._windows import Windowed, pair
from tilewright.records import dataclass
from tilewright.targets.hwpe.encoding import (
    NARROW,
    ONE_TAP,
    TAPS,
    WIDE,
    WORD,
    depthwise_codes,
    window_codes,
)
from tilewright.targets.hwpe.jobs import DENSE, DEPTHWISE, POINTWISE, Job
from tilewright.targets.hwpe.op import BY_CORES, Neureka, one_column

WINDOW = 3
EDGELESS = 2
"""Rows of a bias that is the same everywhere, with scales."""


@dataclass(frozen=True)
class NeurekaConv(Neureka, Windowed):
    """Convolution with up to 3x3 taps, channels last; depthwise ones have their weights in groups of 28 channels.

    Around the image, X is `pad_value` at the top and on the left, 0 at the bottom and on the right. By the cores, the
    bias may be another one where windows lie over the edge: of the bottom, of the right, of both.
    """

    kernel: Shape = (3, 3)
    mode: int = DENSE
    pad_value: int = 0

    @property
    def is_depthwise(self) -> bool:
        return self.mode == DEPTHWISE

    @property
    def has_whole_codes(self) -> bool:
        return self.mode == POINTWISE

    def taps(self, shapes: Shapes) -> Shape:
        return self.kernel

    # ---- geometry -------------------------------------------------------------------------------------------------

    def index(self, shapes: Shapes) -> Index:
        n, f, g = loops("n f g")
        # Groups are whole but for the last, whose missing channels lie behind the end of the axis.
        group = g * WIDE + whole(WIDE)
        words, filters = (g, group) if self.is_depthwise else (f, f)
        channels = group if self.is_depthwise else whole(shapes["X"][-1])
        return {
            "X": (n, *self.read_axes(), channels),
            **self.constants_index(filters, words, shapes),
            "Y": (n, *self.out_loops(), filters),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        words = {"g" if self.is_depthwise else "f": shapes["W"][0]}
        return {"n": shapes["X"][0]} | words | self.spatial_extents(shapes)

    def filters(self, shapes: Shapes) -> int:
        return shapes["X"][-1] if self.is_depthwise else shapes["W"][0]

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        extents = self.extents(shapes)
        spatial = tuple(extents[loop] for axis in self.out_loops() for loop in axis.loops)
        return ((shapes["X"][0], *spatial, self.filters(shapes)),)

    def macs(self, shapes: Shapes) -> int:
        (result,) = self.result_shapes(shapes)
        return math.prod(result) * math.prod(self.kernel) * (1 if self.is_depthwise else shapes["X"][-1] // self.groups)

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(self, padding=self.local_padding(shapes, box, shapes["X"]))

    def check(self, types: Mapping[str, TensorType]) -> None:
        shapes = {name: kind.shape for name, kind in types.items()}
        self.check_window(shapes)
        words = -(-shapes["X"][-1] // WIDE) if self.is_depthwise else shapes["W"][0]
        self.check_constants((words, self.word_bytes(shapes["X"][-1])), self.filters(shapes), types)

    def word_bytes(self, channels: int) -> int:
        """Of the encoded weights of a filter, or of a group of channels."""
        if self.mode == POINTWISE:
            return WORD * -(-channels // NARROW)
        return WORD * self.bits * (1 if self.is_depthwise else -(-channels // WIDE))

    # ---- meaning --------------------------------------------------------------------------------------------------

    def numpy(
        self, X: Array, W: Array, scale: Array | None = None, bias: Array | None = None, add: Array | None = None
    ) -> Array:
        totals = self.totals(X, W)
        if self.made != BY_CORES:
            return self.quantised(totals, scale, bias)
        totals = self.lifted(totals, scale)
        return self.finished(totals if bias is None else self.with_bias(totals, bias), scale, add)

    def totals(self, X: Array, W: Array) -> Array:
        """[n, ..., filters], as int32."""
        field, weights = self.field(X), self.decoded(W, X.shape[-1])
        extents = self.spatial_extents({"X": X.shape, "W": W.shape})
        outs = [extents[loop] for axis in self.out_loops() for loop in axis.loops]
        total = np.zeros((X.shape[0], *outs, weights.shape[0]), np.int32)
        for tap, at in enumerate(np.ndindex(*self.kernel)):
            steps = zip(at, outs, self.strides, strict=True)
            view = field[(slice(None), *(slice(a, a + (n - 1) * step + 1, step) for a, n, step in steps))]
            own = weights[:, :, tap]
            total += view * own[:, 0] if self.is_depthwise else exact_matmul(view, np.ascontiguousarray(own.T))
        return total

    def field(self, X: Array) -> Array:
        spans = pad_spans(self.padding)
        before = [(0, 0), *((first, 0) for first, _ in spans), (0, 0)]
        after = [(0, 0), *((0, last) for _, last in spans), (0, 0)]
        return np.pad(np.pad(X.astype(np.int32), before, constant_values=self.pad_value), after)

    def decoded(self, W: Array, channels: int) -> Array:
        """Weights [filters, channels, taps of the kernel]; of depthwise ones [channels, 1, taps]."""
        if self.mode == POINTWISE:
            codes = ONE_TAP.unpack(W, (len(W), channels))[:, :, None]
        elif self.is_depthwise:
            codes = depthwise_codes(W, channels, self.bits)[:, None, :]
        else:
            codes = window_codes(W, channels, self.bits)
        return codes[:, :, self.positions()] + np.int32(self.offset)

    def positions(self) -> list[int]:
        """Where the taps of the kernel are in a window of 3x3."""
        if self.mode == POINTWISE:
            return [0]
        height, width = pair(self.kernel)
        return [WINDOW * r + s for r in range(height) for s in range(width)]

    def with_bias(self, totals: Array, bias: Array) -> Array:
        """Rows of the bias: what all have, what windows over the right edge have besides, those over the bottom, over
        both; scales are the last."""
        found = totals + bias[0]
        bottom, right = self.edges() if len(bias) > EDGELESS else (0, 0)
        if right:
            found[..., -1, :] += bias[1]
        if bottom:
            found[:, -1] += bias[2]
        if bottom and right:
            found[:, -1, -1] += bias[3] - bias[1] - bias[2]
        return found

    def edges(self) -> tuple[int, int]:
        """How many rows and columns the last windows lie over the edge."""
        return pair(self.padding[self.rank :], 0)[0], self.padding[-1]

    # ---- jobs -----------------------------------------------------------------------------------------------------

    def jobs(self, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
        channels, filters = types["X"].shape[-1], types["Y"].shape[-1]
        (_, in_w), (height, width) = self.sides(types)
        result = self.npu_result(types)
        out = filters * result.width // 8
        steps = pair(self.strides) if self.mode == POINTWISE else (1, 1)
        missing = (0, 0) if self.mode == POINTWISE else self.missing()
        top, left = pair(self.padding[: self.rank], 0)
        return [
            Job(
                self.mode, channels, filters, height, width, types["X"].dtype == "int8", self.weights(resident), result,
                channels * steps[1], channels * in_w * steps[0], out, out * width, 0, 0, top, left, *missing,
                self.pad_value, self.mask(),
            )
        ]  # fmt: skip

    def batch(self, types: Mapping[str, TensorType]) -> int:
        return types["X"].shape[0]

    def tile_types(self, types: Mapping[str, TensorType], extents: Mapping[str, int]) -> dict[str, TensorType]:
        """As if all of the padding were in the tile: what is missing costs as little as a pixel."""
        outs = tuple(extents[loop] for axis in self.out_loops() for loop in axis.loops)
        filters = min(WIDE * extents["g"], types["Y"].shape[-1]) if self.is_depthwise else extents["f"]
        walk = zip(outs, self.strides, self.kernel, pad_spans(self.padding), strict=True)
        image = tuple(max(1, (out - 1) * step + taps - sum(pads)) for out, step, taps, pads in walk)
        channels = filters if self.is_depthwise else types["X"].shape[-1]
        words = extents["g" if self.is_depthwise else "f"], types["W"].shape[1]
        n = extents["n"]
        shapes = {"X": (n, *image, channels), "W": words, "Y": (n, *outs, filters)}
        return {name: TensorType(kind.dtype, shapes.get(name, kind.shape)) for name, kind in types.items()}

    def finish_walk(self, types: Mapping[str, TensorType]) -> Params:
        filters, (rows, columns) = types["Y"].shape[-1], pair(self.spatial(types["Y"].shape))
        bottom, right = self.edges() if "bias" in types and types["bias"].shape[0] > EDGELESS else (0, 0)
        steps = (1, 1) if self.mode == POINTWISE else pair(self.strides)
        if steps == (1, 1) and not bottom and not right:
            return one_column(self.batch(types) * rows * columns, filters)
        _, (height, width) = self.sides(types)
        return {
            "images": self.batch(types), "rows": rows, "columns": columns, "source_image": height * width * filters,
            "source_row": steps[0] * width * filters, "source_pixel": steps[1] * filters, "over_bottom": bottom,
            "over_right": right,
        }  # fmt: skip

    def sides(self, types: Mapping[str, TensorType]) -> tuple[Shape, Shape]:
        """Heights and widths of the image and of what N-EUREKA makes of it: all windows, whatever the strides."""
        image, outs = pair(self.spatial(types["X"].shape)), pair(self.spatial(types["Y"].shape))
        steps = (1, 1) if self.mode == POINTWISE else pair(self.strides)
        return image, tuple((out - 1) * step + 1 for out, step in zip(outs, steps, strict=True))

    def missing(self) -> tuple[int, int]:
        """Rows and columns of windows of 3x3 that lie over the bottom and right edges; some of them do not count."""
        (bottom, right), (height, width) = self.edges(), pair(self.kernel)
        return bottom + WINDOW - height, right + WINDOW - width

    def mask(self) -> int:
        return 0 if self.mode == POINTWISE else sum(1 << tap for tap in range(TAPS) if tap not in self.positions())
