from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tilewright.ir.op import Params
from tilewright.ir.types import Array, TensorType
from tilewright.ops._spatial import pad_spans
from tilewright.ops._windows import pair
from tilewright.records import dataclass
from tilewright.targets.hwpe.conv import NeurekaConv
from tilewright.targets.hwpe.encoding import ONE_TAP
from tilewright.targets.hwpe.gathering import Strips
from tilewright.targets.hwpe.jobs import POINTWISE, Job
from tilewright.targets.hwpe.linear import filter_bytes
from tilewright.targets.hwpe.op import one_column


@dataclass(frozen=True)
class NeurekaGathered(NeurekaConv):
    """Convolution with any window: gathered, it is a pixel with a channel for each element. X is `pad_value` all
    around."""

    @property
    def has_whole_codes(self) -> bool:
        return True

    def word_bytes(self, channels: int) -> int:
        return filter_bytes(channels * math.prod(self.kernel))

    def field(self, X: Array) -> Array:
        pads = [(0, 0), *pad_spans(self.padding), (0, 0)]
        return np.pad(X.astype(np.int32), pads, constant_values=self.pad_value)

    def decoded(self, W: Array, channels: int) -> Array:
        taps = math.prod(self.kernel)
        codes = ONE_TAP.unpack(W, (len(W), taps * channels)).reshape(len(W), taps, channels)
        return codes.transpose(0, 2, 1) + np.int32(self.offset)

    def strips(self, types: Mapping[str, TensorType]) -> Strips:
        shape = types["X"].shape
        (height, width), (out_h, out_w) = pair(self.spatial(shape)), pair(self.spatial(types["Y"].shape))
        (kernel_h, kernel_w), (step_h, step_w) = pair(self.kernel), pair(self.strides)
        top, left = pair(self.padding[: self.rank], 0)
        channels = shape[-1]
        return Strips(
            shape[0], out_w, (out_h - 1) * step_h + kernel_h, kernel_w * channels, step_w * channels, height,
            width * channels, top, left * channels, self.pad_value,
        )  # fmt: skip

    def jobs(self, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
        """Rows of the result lie along the width of the array: they are neighbours in a strip."""
        strips, filters = self.strips(types), types["Y"].shape[-1]
        out_h, out_w = pair(self.spatial(types["Y"].shape))
        result = self.npu_result(types)
        out = filters * result.width // 8
        kernel_h, step_h = pair(self.kernel)[0], pair(self.strides)[0]
        return [
            Job(
                POINTWISE, kernel_h * strips.run, filters, out_w, out_h, types["X"].dtype == "int8",
                self.weights(resident), result, step_h * strips.run, strips.rows * strips.run, out_w * out, out,
            )
        ]  # fmt: skip

    def x_step(self, types: Mapping[str, TensorType]) -> int:
        return self.strips(types).image_bytes

    def finish_walk(self, types: Mapping[str, TensorType]) -> Params:
        return one_column(math.prod(types["Y"].shape[:-1]), types["Y"].shape[-1])
