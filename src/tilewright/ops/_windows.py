"""Base of operators that slide a window over one or two spatial axes: convolutions and pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Affine, Box, Span, loops, outside
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape, Shapes
from tilewright.ops._loops import Axis
from tilewright.ops._spatial import Padding, pad_spans, window_axis
from tilewright.records import dataclass


@dataclass(frozen=True)
class Windowed(Op):
    """Output position y and tap r read the input at y * stride + r * dilation - padding."""

    strides: Shape = (1, 1)
    dilations: Shape = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    channels_last: bool = field(default=False, kw_only=True)
    """Whether channels are the last axis of every tensor, not the second."""

    def taps(self, shapes: Shapes) -> Shape:
        """The window's size along each spatial axis."""
        raise NotImplementedError

    @property
    def rank(self) -> int:
        return len(self.strides)

    def arranged(self, first: Axis, channels: Axis, spatial: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """All axes of a tensor in the order in which it is stored."""
        return (first, *spatial, channels) if self.channels_last else (first, channels, *spatial)

    def spatial(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return axes[1:-1] if self.channels_last else axes[2:]

    def channels(self, axes: tuple[Axis, ...]) -> Axis:
        return axes[-1 if self.channels_last else 1]

    def out_loops(self) -> tuple[Affine, ...]:
        return loops("y x")[-self.rank :]

    def tap_loops(self) -> tuple[Affine, ...]:
        return loops("r s")[-self.rank :]

    def read_axes(self) -> tuple[Affine, ...]:
        """Where the window reads, for each spatial axis."""
        walk = zip(self.out_loops(), self.tap_loops(), self.strides, self.dilations, self.padding, strict=False)
        return tuple(window_axis(out, tap, stride, dilation, before) for out, tap, stride, dilation, before in walk)

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        first = 1 if self.channels_last else 2
        return {("X", first + axis): span for axis, span in enumerate(pad_spans(self.padding))}

    def local_padding(self, shapes: Shapes, box: Box, x: Shape) -> Padding:
        """The padding that one tile sees around an X of shape `x`."""
        walk = zip(self.spatial(self.index(shapes)["X"]), self.spatial(x), strict=True)
        edges = [outside(axis.span(box), size) for axis, size in walk]
        return (*(before for before, _ in edges), *(after for _, after in edges))

    def spatial_extents(self, shapes: Shapes) -> dict[str, int]:
        """The sizes of the loops over output positions and taps."""
        taps = self.taps(shapes)
        walk = zip(self.spatial(shapes["X"]), pad_spans(self.padding), taps, self.dilations, self.strides, strict=True)
        outs = [(size + sum(pads) - reach(n, dilation)) // stride + 1 for size, pads, n, dilation, stride in walk]
        names = "yx"[-self.rank :], "rs"[-self.rank :]
        return dict(zip(names[0], outs, strict=True)) | dict(zip(names[1], taps, strict=True))

    def check_window(self, shapes: Shapes) -> None:
        shape = shapes["X"]
        if self.rank not in (1, 2):
            raise Refusal(
                f"{self.rank} spatial axes; 1 and 2 are supported",
                "write it as one over two axes: the others as channels or batch",
            )
        if len(shape) != self.rank + 2:
            raise Refusal(f"X has {len(shape)} axes, {self.rank + 2} expected")
        walk = zip(self.spatial(shape), pad_spans(self.padding), self.taps(shapes), self.dilations, strict=True)
        for size, pads, taps, dilation in walk:
            if taps < 1 or size + sum(pads) < reach(taps, dilation):
                raise Refusal(
                    f"a window of {taps} taps with dilation {dilation} on {size} elements and padding {pads}",
                    "the window must fit into the padded input",
                )

    def patches(self, X: Array, taps: Shape, fill: int | float = 0) -> Array:
        """X as [n, c, output positions..., taps], in either layout."""
        X = self.channels_second(X)
        data = self.padded(X, fill)
        axes = tuple(range(2, 2 + self.rank))
        reaches = [reach(n, dilation) for n, dilation in zip(taps, self.dilations, strict=True)]
        windows = np.lib.stride_tricks.sliding_window_view(data, reaches, axes)
        steps = (slice(None), slice(None), *(slice(None, None, s) for s in self.strides))
        view = windows[(*steps, *(slice(None, None, d) for d in self.dilations))]
        return view.reshape(*view.shape[: 2 + self.rank], int(np.prod(taps)))

    def padded(self, X: Array, fill: int | float = 0) -> Array:
        """X [n, c, ...] with its padding around it."""
        if not any(self.padding):
            return X
        return np.pad(X, [(0, 0), (0, 0), *pad_spans(self.padding)], constant_values=fill)

    def channels_second(self, stored: Array) -> Array:
        return np.moveaxis(stored, -1, 1) if self.channels_last else stored

    def stored(self, array: Array) -> Array:
        """[n, c, ...] in the order in which it is stored."""
        return np.moveaxis(array, 1, -1) if self.channels_last else array


def reach(taps: int, dilation: int) -> int:
    """How many elements a window spans."""
    return (taps - 1) * dilation + 1


def pair(values: Shape, first: int = 1) -> Shape:
    return values if len(values) == 2 else (first, *values)
