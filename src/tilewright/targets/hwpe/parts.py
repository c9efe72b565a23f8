"""Depthwise windows that are larger than N-EUREKA's, in parts of 3x3."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.op import Params
from tilewright.ir.types import BYTES, Array, Shape, TensorType
from tilewright.ops._spatial import pad_spans
from tilewright.ops._windows import pair
from tilewright.records import dataclass
from tilewright.targets.hwpe.conv import WINDOW, NeurekaConv
from tilewright.targets.hwpe.encoding import TAPS, WIDE, WORD, depthwise_codes, depthwise_words
from tilewright.targets.hwpe.gathering import Strips
from tilewright.targets.hwpe.jobs import DEPTHWISE, Job, parts
from tilewright.targets.hwpe.op import one_column
from tilewright.targets.hwpe.sums import Sums

MOST_PARTS = 9
"""Of a window: 9x9 taps."""
SCALE_BYTES, BIAS_BYTES = 1, 4


@dataclass(frozen=True)
class NeurekaParts(NeurekaConv):
    """Depthwise convolution with any window. The cores copy the image with its padding, all of it `pad_value`; N-EUREKA
    makes totals of each part of 3x3 taps, 28 channels at a time; the cores add them up. W has the parts of a group of
    channels one after the other. The first part has the first row of the bias, the others the second, which is 0."""

    @property
    def counts(self) -> Shape:
        """Parts of a window from top to bottom, and from left to right."""
        height, width = pair(self.kernel)
        return -(-height // WINDOW), -(-width // WINDOW)

    def word_bytes(self, channels: int) -> int:
        return WORD * self.bits * math.prod(self.counts)

    # ---- meaning --------------------------------------------------------------------------------------------------

    def field(self, X: Array) -> Array:
        pads = [(0, 0), *pad_spans(self.padding), (0, 0)]
        return np.pad(X.astype(np.int32), pads, constant_values=self.pad_value)

    def decoded(self, W: Array, channels: int) -> Array:
        rows, columns = self.counts
        by_part = W.reshape(len(W), rows * columns, -1).transpose(1, 0, 2)
        codes = np.stack([depthwise_codes(np.ascontiguousarray(words), channels, self.bits) for words in by_part])
        windows = codes.reshape(rows, columns, channels, WINDOW, WINDOW).transpose(2, 0, 3, 1, 4)
        height, width = pair(self.kernel)
        whole = windows.reshape(channels, 1, rows * WINDOW, columns * WINDOW)[:, :, :height, :width]
        return whole.reshape(channels, 1, -1) + np.int32(self.offset)

    def edges(self) -> tuple[int, int]:
        """The bias is the same everywhere."""
        return 0, 0

    # ---- jobs -----------------------------------------------------------------------------------------------------

    def strips(self, types: Mapping[str, TensorType]) -> Strips:
        """One of each image: as much of it, with its padding, as parts see."""
        (height, width), (out_h, out_w) = self.sides(types)
        rows, columns = self.counts
        top, left = pair(self.padding[: self.rank], 0)
        channels = types["X"].shape[-1]
        return Strips(
            types["X"].shape[0], 1, out_h - 1 + rows * WINDOW, (out_w - 1 + columns * WINDOW) * channels, 0, height,
            width * channels, top, left * channels, self.pad_value,
        )  # fmt: skip

    def jobs(self, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
        """Of one image: those of all groups, part by part."""
        channels = types["X"].shape[-1]
        return [self.job(types, k, resident) for k in parts(channels, WIDE) for _ in range(math.prod(self.counts))]

    def job(self, types: Mapping[str, TensorType], group: int, resident: bool) -> Job:
        """The first part of so many channels."""
        channels, (_, (height, width)) = types["X"].shape[-1], self.sides(types)
        out = channels * BIAS_BYTES
        return Job(
            DEPTHWISE, group, group, height, width, types["X"].dtype == "int8", self.weights(resident),
            self.npu_result(types), channels, self.strips(types).run, out, out * width,
        )  # fmt: skip

    def x_step(self, types: Mapping[str, TensorType]) -> int:
        return self.strips(types).image_bytes

    def part_bytes(self, types: Mapping[str, TensorType]) -> int:
        """Of the totals of a part, of all images."""
        _, (height, width) = self.sides(types)
        return types["X"].shape[0] * height * width * types["X"].shape[-1] * BIAS_BYTES

    def part_params(self, types: Mapping[str, TensorType]) -> Params:
        """As tw_neureka_parts."""
        (rows, columns), channels, run = self.counts, types["X"].shape[-1], self.strips(types).run
        return {
            "groups": -(-channels // WIDE), "channels": WIDE, "rows": rows, "columns": columns,
            "x_row": WINDOW * run, "x_column": WINDOW * channels, "w_part": WORD * self.bits,
            "y_part": self.part_bytes(types), "bias_row": channels * BIAS_BYTES,
            "scale_bytes": BYTES[types["scale"].dtype] if self.is_multiplied else SCALE_BYTES,
        }  # fmt: skip

    def finish_walk(self, types: Mapping[str, TensorType]) -> Params:
        filters, (rows, columns) = types["Y"].shape[-1], pair(self.spatial(types["Y"].shape))
        steps = pair(self.strides)
        if steps == (1, 1):
            return one_column(self.batch(types) * rows * columns, filters)
        _, (height, width) = self.sides(types)
        return {
            "images": self.batch(types), "rows": rows, "columns": columns, "source_image": height * width * filters,
            "source_row": steps[0] * width * filters, "source_pixel": steps[1] * filters, "over_bottom": 0,
            "over_right": 0,
        }  # fmt: skip


def part_words(op: NeurekaParts, sums: Sums) -> Array:
    """Weights as the parts have them; taps that a window does not have are 0."""
    none = -sums.offset
    if none < 0 or none.bit_length() > op.bits:
        raise Refusal("no code of its weights stands for 0, and N-EUREKA has windows of 3x3 taps")
    (rows, columns), (height, width) = op.counts, pair(op.kernel)
    channels = len(sums.stored)
    whole = np.full((channels, rows * WINDOW, columns * WINDOW), none, np.int64)
    whole[:, :height, :width] = sums.codes.reshape(channels, height, width)
    windows = whole.reshape(channels, rows, WINDOW, columns, WINDOW).transpose(1, 3, 0, 2, 4)
    words = [depthwise_words(part, op.bits) for part in windows.reshape(-1, channels, TAPS)]
    return np.concatenate([part.reshape(len(words[0]), -1) for part in words], axis=1)
