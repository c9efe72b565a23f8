"""Base of operators that slide a window over one or two spatial axes: convolutions and pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.affine import Affine, Span, loops
from tilewright.errors import Refusal
from tilewright.op import Op, Params
from tilewright.ops._spatial import Padding, pad_spans, window_axis
from tilewright.types import Array, Shape, Shapes


@dataclass(frozen=True)
class Windowed(Op):
    """Output position y and tap r read the input at y * stride + r * dilation - padding."""

    strides: Shape = (1, 1)
    dilations: Shape = (1, 1)
    padding: Padding = (0, 0, 0, 0)

    def taps(self, shapes: Shapes) -> Shape:
        """The window's size along each spatial axis."""
        raise NotImplementedError

    @property
    def rank(self) -> int:
        return len(self.strides)

    def out_loops(self) -> tuple[Affine, ...]:
        return loops("y x")[-self.rank :]

    def tap_loops(self) -> tuple[Affine, ...]:
        return loops("r s")[-self.rank :]

    def read_axes(self) -> tuple[Affine, ...]:
        """Where the window reads, for each spatial axis."""
        walk = zip(self.out_loops(), self.tap_loops(), self.strides, self.dilations, self.padding, strict=False)
        return tuple(window_axis(out, tap, stride, dilation, before) for out, tap, stride, dilation, before in walk)

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return {("X", 2 + axis): span for axis, span in enumerate(pad_spans(self.padding))}

    def spatial_extents(self, shapes: Shapes) -> dict[str, int]:
        """The sizes of the loops over output positions and taps."""
        taps = self.taps(shapes)
        walk = zip(shapes["X"][2:], pad_spans(self.padding), taps, self.dilations, self.strides, strict=True)
        outs = [(size + sum(pads) - reach(n, dilation)) // stride + 1 for size, pads, n, dilation, stride in walk]
        names = "yx"[-self.rank :], "rs"[-self.rank :]
        return dict(zip(names[0], outs, strict=True)) | dict(zip(names[1], taps, strict=True))

    def check_window(self, shapes: Shapes) -> None:
        shape = shapes["X"]
        if self.rank not in (1, 2):
            raise Refusal(f"{self.rank} spatial axes; 1 and 2 are supported")
        if len(shape) != self.rank + 2:
            raise Refusal(f"X has {len(shape)} axes, {self.rank + 2} expected")
        walk = zip(shape[2:], pad_spans(self.padding), self.taps(shapes), self.dilations, strict=True)
        for size, pads, taps, dilation in walk:
            if taps < 1 or size + sum(pads) < reach(taps, dilation):
                raise Refusal(
                    f"a window of {taps} taps with dilation {dilation} on {size} elements and padding {pads}",
                    "the window must fit into the padded input",
                )

    def patches(self, X: Array, taps: Shape, fill: int | float = 0) -> Array:
        """X[n, c, ...] as [n, c, output positions..., taps]."""
        data = np.pad(X, [(0, 0), (0, 0), *pad_spans(self.padding)], constant_values=fill)
        axes = tuple(range(2, 2 + self.rank))
        reaches = [reach(n, dilation) for n, dilation in zip(taps, self.dilations, strict=True)]
        windows = np.lib.stride_tricks.sliding_window_view(data, reaches, axes)
        steps = (slice(None), slice(None), *(slice(None, None, s) for s in self.strides))
        view = windows[(*steps, *(slice(None, None, d) for d in self.dilations))]
        return view.reshape(*view.shape[: 2 + self.rank], int(np.prod(taps)))

    def window_params(self, x: Shape, y: Shape, taps: Shape) -> Params:
        """The fields that the kernels of all windows share; one spatial axis is two with a height of 1."""
        (in_h, in_w), (out_h, out_w) = pair(x[2:]), pair(y[2:])
        (kernel_h, kernel_w), (stride_h, stride_w) = pair(taps), pair(self.strides)
        dilation_h, dilation_w = pair(self.dilations)
        top, left = pair(self.padding[: self.rank], 0)
        return {
            "batch": x[0], "in_h": in_h, "in_w": in_w, "out_h": out_h, "out_w": out_w, "kernel_h": kernel_h,
            "kernel_w": kernel_w, "stride_h": stride_h, "stride_w": stride_w, "dilation_h": dilation_h,
            "dilation_w": dilation_w, "pad_top": top, "pad_left": left,
        }  # fmt: skip


def reach(taps: int, dilation: int) -> int:
    """How many elements a window spans."""
    return (taps - 1) * dilation + 1


def pair(values: Shape, first: int = 1) -> Shape:
    return values if len(values) == 2 else (first, *values)
