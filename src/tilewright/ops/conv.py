from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Box, loops
from tilewright.ir.exact import exact_matmul
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ir.value import Value
from tilewright.ops._compose import Compose
from tilewright.ops._conv_planes import Depth, expanded, planes_as_channels, planes_back, sees_every_plane, tap_by_tap
from tilewright.ops._filters import Filters, kernel_of
from tilewright.ops._linear import centred
from tilewright.ops._spatial import read_window
from tilewright.ops._windows import Windowed, reach
from tilewright.records import dataclass


@dataclass(frozen=True)
class Conv(Filters, Windowed):
    """Convolution over one or two spatial axes, with groups; integers accumulate in int32 and may be requantised.

    X[n, g*c, ...], W[g*f, c, ...], B[g*f]; `mul` and `add` belong to the requantisation, one value or one per filter.
    With `channels_last` X[n, ..., g*c], W[g*f, ..., c] and Y[n, ..., g*f].
    """

    def adds_up(self, weights: Shape) -> bool:
        """Whether parts of its sums, each a convolution of its kind, add up to them."""
        return True

    def taps(self, shapes: Shapes) -> Shape:
        return self.spatial(shapes["W"])

    def index(self, shapes: Shapes) -> Index:
        n, g, f, c = loops("n g f c")
        channels, filters = self.channels(shapes["X"]) // self.groups, shapes["W"][0] // self.groups
        return {
            "X": self.arranged(n, g * channels + c, self.read_axes()),
            "W": self.arranged(g * filters + f, c, self.tap_loops()),
            **self.per_filter_index(g * filters + f, shapes),
            "Y": self.arranged(n, g * filters + f, self.out_loops()),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        w = shapes["W"]
        sizes = {"n": shapes["X"][0], "g": self.groups, "f": w[0] // self.groups, "c": self.channels(w)}
        return sizes | self.spatial_extents(shapes)

    def at(self, shapes: Shapes, box: Box) -> Op:
        groups = box["g"][1] - box["g"][0]
        return replace(self, padding=self.local_padding(shapes, box, shapes["X"]), groups=groups)

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, w = types["X"].shape, types["W"].shape
        self._check_channels(x, w)
        self.check_window({"X": x, "W": w})
        self.check_filters(w[0], types)

    def _check_channels(self, x: Shape, w: Shape) -> None:
        if len(x) != self.rank + 2 or len(w) != self.rank + 2:
            raise Refusal(f"X has {len(x)} axes and W {len(w)}, both should have {self.rank + 2}")
        given, taken = self.channels(x), self.channels(w)
        if self.groups < 1 or w[0] % self.groups or given != taken * self.groups:
            raise Refusal(f"X has {given} channels, W {w[0]} filters of {taken} channels, in {self.groups} groups")

    def accumulate(self, X: Array, W: Array, *rest: Array | None) -> Array:
        if X.dtype == np.float32 and self.groups == self.channels(X.shape) == W.shape[0]:
            return self.stored(self._depthwise(self.channels_second(X), self.channels_second(W)))
        patches = self.patches(centred(X, self.x_zero), self.spatial(W.shape))
        n, channels, *outs, taps = patches.shape
        per_group, pixels = channels // self.groups, math.prod(outs)
        patches = patches.reshape(n, self.groups, per_group, pixels, taps)
        columns = patches.transpose(0, 1, 3, 2, 4).reshape(n, self.groups, pixels, per_group * taps)
        weights = self.channels_second(centred(W, self.w_zero)).reshape(
            self.groups, W.shape[0] // self.groups, per_group * taps
        )
        product = exact_matmul(columns, weights.transpose(0, 2, 1))
        return self.stored(product.transpose(0, 1, 3, 2).reshape(n, W.shape[0], *outs))

    def _depthwise(self, X: Array, W: Array) -> Array:
        """One filter per channel: tap by tap, which numpy does far faster than a matrix product per channel."""
        data, taps = self.padded(X), W.shape[2:]
        walk = zip(data.shape[2:], taps, self.dilations, self.strides, strict=True)
        outs = [(size - reach(n, dilation)) // stride + 1 for size, n, dilation, stride in walk]
        total = np.zeros((*X.shape[:2], *outs), np.float32)
        product, weights = np.empty_like(total), W.reshape(len(W), -1, *(1,) * self.rank)
        for number, at in enumerate(itertools.product(*map(range, taps))):
            starts = [tap * dilation for tap, dilation in zip(at, self.dilations, strict=True)]
            spans = zip(starts, outs, self.strides, strict=True)
            seen: Any = (..., *(slice(start, start + (n - 1) * stride + 1, stride) for start, n, stride in spans))
            np.multiply(data[seen], weights[:, number], out=product)
            total += product
        return total

    def gradients(self, at: Adjoint) -> Gradients:
        rules = {"X": self.by_image, "W": self.by_filters, "B": self.by_bias}
        return {name: rules[name](at) for name in sorted(at.wanted)}

    def by_bias(self, at: Adjoint) -> Value:
        axes = range(at.gradient.rank)
        per_filter = at.gradient.sum([axis for axis in axes if axis != self.channels(tuple(axes))], keepdims=False)
        return per_filter.summed_to(at["B"].shape)

    def by_image(self, at: Adjoint) -> Value:
        """What each filter adds where it has read."""
        padding = (*self.padding[: self.rank], *(0,) * self.rank)
        window = {"strides": self.strides, "dilations": self.dilations, "padding": padding}
        size = self.spatial(at["X"].shape)
        return at.gradient.apply("ConvInputGrad", at["W"], groups=self.groups, size=size, **self._layout(), **window)

    def by_filters(self, at: Adjoint) -> Value:
        window = {"strides": self.strides, "dilations": self.dilations, "padding": self.padding}
        kernel = self.spatial(at["W"].shape)
        return at["X"].apply(
            "ConvWeightGrad", at.gradient, groups=self.groups, kernel=kernel, **self._layout(), **window
        )

    def _layout(self) -> dict[str, bool]:
        return {"channels_last": self.channels_last}

    def per_filter(self, values: Array, rank: int) -> Array:
        return values if self.channels_last else super().per_filter(values, rank)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Conv, Sequence[str]]:
        kernel = kernel_of(node)
        strides, dilations, padding = read_window(node, kernel, node.type(0).shape[2:])
        return cls(strides, dilations, padding, node.attribute("group", 1)), node.inputs

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        op, inputs = cls.from_onnx(node)
        return expanded(op, inputs, node, emit) if op.rank == 3 else super().expand(node, emit)

    def applied(self, make: Compose, x: str, w: str, bias: str = "") -> str:
        """The result; over three axes from a convolution over the last two."""
        if self.rank != 3:
            return make(self, x, w, bias)
        self._check_channels(make.shape(x), make.shape(w))
        filters, channels, taps, *kernel = make.shape(w)
        depth = Depth(taps, self.strides[0], self.dilations[0], self.padding[0], self.padding[3])
        padding = (*self.padding[1:3], *self.padding[4:])
        flatter = replace(self, strides=self.strides[1:], dilations=self.dilations[1:], padding=padding)
        is_float = make.kind(x).dtype == make.kind(w).dtype == "float32" and make.node.constants[1] is not None
        if is_float and channels == 1 and filters == self.groups > 1 and sees_every_plane(depth, make.shape(x)[2]):
            return tap_by_tap(make, x, w, bias, depth, flatter)
        planes = planes_as_channels(make, x, depth, self.groups, self.x_zero)
        flat = make.reshape(make.transpose(w, (0, 2, 1, 3, 4)), (filters, taps * channels, *kernel))
        return planes_back(make, make(flatter, planes, flat, bias), make.shape(x)[0])
