from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tilewright.affine import FIRST, Affine, Box, Span, loops
from tilewright.errors import Refusal
from tilewright.exact import exact_matmul
from tilewright.onnx_node import OnnxNode
from tilewright.op import Index, Op, Params
from tilewright.ops._spatial import Padding, local_padding, pad_spans, read_window, window_axis
from tilewright.requant import Requant
from tilewright.types import Array, Shape, Shapes, TensorType


@dataclass(frozen=True)
class Conv(Op):
    """Convolution over one or two spatial axes, with groups; integers accumulate in int32 and may be requantised.

    X[n, g*c, ...], W[g*f, c, ...], B[g*f]; `mul` and `add` belong to the requantisation, one value or one per filter.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B?", "mul?", "add?")
    multiplies: ClassVar[bool] = True
    strides: Shape = (1, 1)
    dilations: Shape = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    groups: int = 1
    x_zero: int = 0
    """The integer that stands for zero in X: padding has this value, and it is subtracted."""
    w_zero: int = 0
    requant: Requant | None = None

    def index(self, shapes: Shapes) -> Index:
        n, g, f, c = loops("n g f c")
        outs, taps = loops("y x")[-self.rank :], loops("r s")[-self.rank :]
        per_group = shapes["X"][1] // self.groups, shapes["W"][0] // self.groups
        spatial = tuple(
            window_axis(out, tap, stride, dilation, before)
            for out, tap, stride, dilation, before in zip(
                outs, taps, self.strides, self.dilations, self.padding, strict=False
            )
        )
        filters = g * per_group[1] + f
        per_filter = {name: (_scalar_or(filters, shapes[name]),) for name in ("B", "mul", "add") if name in shapes}
        return {
            "X": (n, g * per_group[0] + c, *spatial),
            "W": (filters, c, *taps),
            **per_filter,
            "Y": (n, filters, *outs),
        }

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return {("X", 2 + axis): span for axis, span in enumerate(pad_spans(self.padding))}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        kernel = shapes["W"][2:]
        spatial = [
            (size + sum(pads) - (taps - 1) * dilation - 1) // stride + 1
            for size, pads, taps, dilation, stride in zip(
                shapes["X"][2:], pad_spans(self.padding), kernel, self.dilations, self.strides, strict=True
            )
        ]
        sizes = {"n": shapes["X"][0], "g": self.groups, "f": shapes["W"][0] // self.groups}
        sizes |= dict(zip(("y", "x")[-self.rank :], spatial, strict=True))
        return sizes | {"c": shapes["W"][1]} | dict(zip(("r", "s")[-self.rank :], kernel, strict=True))

    def at(self, shapes: Shapes, box: Box) -> Op:
        groups = box["g"][1] - box["g"][0]
        return replace(self, padding=local_padding(self.index(shapes), "X", shapes["X"], box), groups=groups)

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        # Channels of several groups are contiguous only where every group is whole.
        return frozenset({"f", "c"}) if self.groups > 1 else frozenset()

    @property
    def rank(self) -> int:
        return len(self.strides)

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, w = types["X"].shape, types["W"].shape
        if len(x) != self.rank + 2 or len(w) != self.rank + 2:
            raise Refusal(f"X has {len(x)} axes and W {len(w)}, both should have {self.rank + 2}")
        if self.groups < 1 or w[0] % self.groups or x[1] != w[1] * self.groups:
            raise Refusal(f"X has {x[1]} channels, W {w[0]} filters of {w[1]} channels, in {self.groups} groups")
        if (types["X"].dtype == "float32") != (types["W"].dtype == "float32"):
            raise Refusal(f"X is {types['X'].dtype} and W is {types['W'].dtype}", "quantise both or neither")
        for name in {"B", "mul", "add"} & set(types):
            if types[name].elements not in (1, w[0]):
                raise Refusal(f"{name} has {types[name].elements} values for {w[0]} filters")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        if self.requant is not None:
            return (self.requant.dtype,)
        return ("float32" if dtypes["X"] == "float32" else "int32",)

    def accumulate(self, X: Array, W: Array, *rest: Array | None) -> Array:
        patches = _patches(X, W.shape[2:], self)
        n, channels, *outs, taps = patches.shape
        patches = patches.reshape(n, self.groups, channels // self.groups, -1, taps)
        columns = patches.transpose(0, 1, 3, 2, 4).reshape(n, self.groups, -1, channels // self.groups * taps)
        weights = _centred(W, self.w_zero).reshape(self.groups, W.shape[0] // self.groups, -1)
        product = exact_matmul(columns, weights.transpose(0, 2, 1))
        return product.transpose(0, 1, 3, 2).reshape(n, W.shape[0], *outs)

    def finish(
        self, total: Array, shapes: Shapes, X: Array, W: Array, B: Array | None = None, mul: Array | None = None,
        add: Array | None = None,
    ) -> Array:  # fmt: skip
        if B is not None:
            total = total + _per_filter(B, self.rank)
        if self.requant is None or mul is None:
            return total
        return self.requant(total, _per_filter(mul, self.rank), None if add is None else _per_filter(add, self.rank))

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        kernel = node.attribute("kernel_shape", node.type(1).shape[2:])
        if tuple(kernel) != node.type(1).shape[2:]:
            raise Refusal(f"kernel_shape {tuple(kernel)} differs from W's {node.type(1).shape[2:]}")
        if len(kernel) not in (1, 2):
            raise Refusal(f"{len(kernel)} spatial axes; 1 and 2 are supported")
        strides, dilations, padding = read_window(node, kernel, node.type(0).shape[2:])
        return cls(strides, dilations, padding, node.attribute("group", 1)), node.inputs

    def params(self, types: Mapping[str, TensorType]) -> Params:
        x, w, y = (_two_axes(types[name].shape) for name in "XWY")
        strides, dilations = _pair(self.strides), _pair(self.dilations)
        top, left = (self.padding[0], self.padding[1]) if self.rank == 2 else (0, self.padding[0])
        return {
            "batch": x[0], "groups": self.groups, "in_channels": w[1], "out_channels": w[0] // self.groups,
            "in_h": x[2], "in_w": x[3], "out_h": y[2], "out_w": y[3], "kernel_h": w[2], "kernel_w": w[3],
            "stride_h": strides[0], "stride_w": strides[1], "dilation_h": dilations[0], "dilation_w": dilations[1],
            "pad_top": top, "pad_left": left,
        }  # fmt: skip


def _scalar_or(expression: Affine, shape: Shape) -> Affine:
    return FIRST if shape == (1,) else expression


def _per_filter(values: Array, rank: int) -> Array:
    return values.reshape(-1, *(1,) * rank)


def _centred(values: Array, zero: int) -> Array:
    return values if values.dtype == np.float32 else values.astype(np.int32) - zero


def _patches(X: Array, kernel: Shape, conv: Conv) -> Array:
    """X[n, c, ...] as [n, c, output positions..., taps]."""
    data = np.pad(_centred(X, conv.x_zero), [(0, 0), (0, 0), *pad_spans(conv.padding)])
    axes = tuple(range(2, 2 + conv.rank))
    reach = [(taps - 1) * dilation + 1 for taps, dilation in zip(kernel, conv.dilations, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(data, reach, axes)
    steps = (slice(None), slice(None), *(slice(None, None, s) for s in conv.strides))
    view = windows[(*steps, *(slice(None, None, d) for d in conv.dilations))]
    return view.reshape(*view.shape[: 2 + conv.rank], -1)


def _two_axes(shape: Shape) -> Shape:
    """A one-dimensional convolution is a two-dimensional one of height 1."""
    return shape if len(shape) == 4 else (shape[0], shape[1], 1, shape[2])


def _pair(values: Shape) -> Shape:
    return values if len(values) == 2 else (1, values[0])
