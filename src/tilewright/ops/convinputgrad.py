from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, Span, loops, whole
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._gradients import require_floats
from tilewright.ops._windows import Windowed
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvInputGrad(Windowed):
    """The gradient of a convolution's operand from the gradient G of its result and its filters W.

    G[n, g*f, ...], W[g*f, c, ...], Y[n, g*c, ...]; with `channels_last` channels, and c of W, are the last axis.
    Only the starts of `padding` count; they are negative in tiles that begin between two positions of the window.
    """

    operands: ClassVar[tuple[str, ...]] = ("G", "W")
    multiplies: ClassVar[bool] = True
    uneven: ClassVar[frozenset[str]] = frozenset("yxrs")
    groups: int = 1
    size: Shape = (1, 1)
    """Of Y along each spatial axis."""

    def index(self, shapes: Shapes) -> Index:
        n, g, f, c = loops("n g f c")
        filters, channels = shapes["W"][0] // self.groups, self.channels(shapes["W"])
        return {
            "G": self.arranged(n, g * filters + f, tuple(map(whole, self.spatial(shapes["G"])))),
            "W": self.arranged(g * filters + f, c, self.tap_loops()),
            "Y": self.arranged(n, g * channels + c, self.out_loops()),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        w = shapes["W"]
        sizes = {"n": shapes["G"][0], "g": self.groups, "f": w[0] // self.groups, "c": self.channels(w)}
        outs = dict(zip("yx"[-self.rank :], self.size, strict=True))
        return sizes | outs | dict(zip("rs"[-self.rank :], self.spatial(w), strict=True))

    def macs(self, shapes: Shapes) -> int:
        """Each element of G meets each element of a filter once, where strides skip elements of Y too."""
        w = shapes["W"]
        return math.prod(shapes["G"]) * math.prod(w[1:])

    def least_macs(self, shapes: Shapes) -> int:
        """Without the taps that reach no element of Y, which kernels leave out."""
        taps = math.prod(self._taps_inside(axis, shapes) for axis in range(self.rank))
        return shapes["G"][0] * shapes["W"][0] * self.channels(shapes["W"]) * taps

    def _taps_inside(self, axis: int, shapes: Shapes) -> int:
        """Of all positions of the window along an axis."""
        positions, taps = (np.arange(self.spatial(shapes[name])[axis]) for name in "GW")
        reached = np.add.outer(positions * self.strides[axis], taps * self.dilations[axis]) - self.padding[axis]
        return int(((reached >= 0) & (reached < self.size[axis])).sum())

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return {}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"f", "c"}) if self.groups > 1 else frozenset()

    def footprint(self, shapes: Shapes, box: Box) -> dict[str, tuple[Span, ...]]:
        spans = super().footprint(shapes, box)
        read = tuple(self._read(axis, shapes, box) for axis in range(self.rank))
        return {**spans, "G": self.arranged(spans["G"][0], self.channels(spans["G"]), read)}

    def _read(self, axis: int, shapes: Shapes, box: Box) -> Span:
        """The positions of the window that reach a range of elements through a range of taps; all positions reach an
        axis that is not cut, also those in the padding, as the index says."""
        (first, end), (tap, taps_end) = box["yx"[-self.rank :][axis]], box["rs"[-self.rank :][axis]]
        if (first, end, tap, taps_end) == (0, self.size[axis], 0, self.spatial(shapes["W"])[axis]):
            return 0, self.spatial(shapes["G"])[axis]
        stride, dilation, before = self.strides[axis], self.dilations[axis], self.padding[axis]
        start = -(-(first + before - (taps_end - 1) * dilation) // stride)
        return start, max(start, (end - 1 + before - tap * dilation) // stride + 1)

    def at(self, shapes: Shapes, box: Box) -> Op:
        starts = self.spatial(self.footprint(shapes, box)["G"])
        before = tuple(self._local_before(axis, starts[axis][0], shapes, box) for axis in range(self.rank))
        size = tuple(box[name][1] - box[name][0] for name in "yx"[-self.rank :])
        return replace(self, padding=(*before, *(0,) * self.rank), size=size, groups=box["g"][1] - box["g"][0])

    def _local_before(self, axis: int, start: int, shapes: Shapes, box: Box) -> int:
        first, tap = box["yx"[-self.rank :][axis]][0], box["rs"[-self.rank :][axis]][0]
        start = min(max(start, 0), self.spatial(shapes["G"])[axis])
        return self.padding[axis] + first - start * self.strides[axis] - tap * self.dilations[axis]

    def check(self, types: Mapping[str, TensorType]) -> None:
        require_floats(types)
        g, w = types["G"].shape, types["W"].shape
        if self.rank not in (1, 2) or len(g) != self.rank + 2 or len(w) != self.rank + 2:
            raise Refusal(f"G has {len(g)} axes and W {len(w)}; 3 and 4 are supported")
        if self.groups < 1 or w[0] % self.groups or self.channels(g) != w[0]:
            raise Refusal(f"G has {self.channels(g)} channels, W {w[0]} filters, in {self.groups} groups")

    def accumulate(self, G: Array, W: Array) -> Array:
        op = ConvTranspose(
            self.groups, strides=self.strides, dilations=self.dilations, before=self.padding[: self.rank],
            spatial=self.size,
        )  # fmt: skip
        total = op.accumulate(self.channels_second(G), self.channels_second(W))
        return np.ascontiguousarray(self.stored(total).astype(np.float32))
