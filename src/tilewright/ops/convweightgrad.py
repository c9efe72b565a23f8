from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, loops
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._gradients import require_floats
from tilewright.ops._windows import Windowed
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvWeightGrad(Windowed):
    """The gradient of a convolution's filters from its operand X and the gradient G of its result.

    X[n, g*c, ...], G[n, g*f, ...], Y[g*f, c, ...]; with `channels_last` channels, and c of Y, are the last axis.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "G")
    multiplies: ClassVar[bool] = True
    groups: int = 1
    kernel: Shape = (1, 1)

    def taps(self, shapes: Shapes) -> Shape:
        return self.kernel

    def index(self, shapes: Shapes) -> Index:
        n, g, f, c = loops("n g f c")
        channels, filters = (self.channels(shapes[name]) // self.groups for name in "XG")
        return {
            "X": self.arranged(n, g * channels + c, self.read_axes()),
            "G": self.arranged(n, g * filters + f, self.out_loops()),
            "Y": self.arranged(g * filters + f, c, self.tap_loops()),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        channels, filters = (self.channels(shapes[name]) // self.groups for name in "XG")
        sizes = {"n": shapes["X"][0], "g": self.groups, "f": filters, "c": channels}
        outs = dict(zip("yx"[-self.rank :], self.spatial(shapes["G"]), strict=True))
        return sizes | outs | dict(zip("rs"[-self.rank :], self.kernel, strict=True))

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"f", "c"}) if self.groups > 1 else frozenset()

    def at(self, shapes: Shapes, box: Box) -> Op:
        padding = self.local_padding(shapes, box, shapes["X"])
        kernel = tuple(box[name][1] - box[name][0] for name in "rs"[-self.rank :])
        return replace(self, padding=padding, groups=box["g"][1] - box["g"][0], kernel=kernel)

    def check(self, types: Mapping[str, TensorType]) -> None:
        require_floats(types)
        x, g = types["X"].shape, types["G"].shape
        self.check_window({"X": x})
        if len(g) != len(x) or g[0] != x[0]:
            raise Refusal(f"X has shape {x} and G {g}; axes and batch should be the same")
        if self.groups < 1 or self.channels(x) % self.groups or self.channels(g) % self.groups:
            raise Refusal(f"{self.channels(x)} channels and {self.channels(g)} filters in {self.groups} groups")
        outs = tuple(size for name, size in self.spatial_extents({"X": x}).items() if name in "yx")
        if outs != self.spatial(g):
            raise Refusal(f"G has the size {self.spatial(g)}, but the window has {outs} positions on X")

    def accumulate(self, X: Array, G: Array) -> Array:
        outs = self.spatial(G.shape)
        patches = self.patches(X, self.kernel)[(slice(None), slice(None), *(slice(size) for size in outs))]
        n, channels, taps, pixels = len(X), patches.shape[1], math.prod(self.kernel), math.prod(outs)
        columns = patches.reshape(n, self.groups, channels // self.groups, pixels, taps)
        columns = columns.transpose(1, 0, 3, 2, 4).reshape(self.groups, n * pixels, -1)
        rows = self.channels_second(G).reshape(n, self.groups, -1, pixels).transpose(1, 2, 0, 3)
        product = rows.reshape(self.groups, -1, n * pixels) @ columns
        return np.ascontiguousarray(
            self.stored(product.reshape(-1, channels // self.groups, *self.kernel)).astype(np.float32)
        )
