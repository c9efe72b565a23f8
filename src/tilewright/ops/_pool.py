"""Base of pools: a window of stated size slides over each channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Shape, Shapes, TensorType
from tilewright.ops._spatial import Padding, pad_spans, read_window
from tilewright.ops._windows import Windowed, reach
from tilewright.records import dataclass


@dataclass(frozen=True)
class Pool(Windowed):
    """X[n, c, ...] to Y[n, c, ...], or [n, ..., c] both. `padding` includes what `ceil_mode` adds at the end."""

    accepts: ClassVar[frozenset[str]] = frozenset()
    kernel: Shape = (1, 1)

    def taps(self, shapes: Shapes) -> Shape:
        return self.kernel

    def index(self, shapes: Shapes) -> Index:
        n, c = loops("n c")
        return {"X": self.arranged(n, c, self.read_axes()), "Y": self.arranged(n, c, self.out_loops())}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {"n": shapes["X"][0], "c": self.channels(shapes["X"])} | self.spatial_extents(shapes)

    def reductions(self, shapes: Shapes) -> frozenset[str]:
        return frozenset("rs"[-self.rank :])

    def at(self, shapes: Shapes, box: Box) -> Op:
        padding = self.local_padding(shapes, box, shapes["X"])
        kernel = tuple(box[name][1] - box[name][0] for name in "rs"[-self.rank :])
        return replace(self, padding=padding, kernel=kernel)

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype not in self.accepts:
            raise Refusal(f"X is {types['X'].dtype}; supported: {', '.join(sorted(self.accepts))}", "insert a Cast")
        self.check_window({"X": types["X"].shape})

    def covers(self, spatial: Shape) -> bool:
        """Whether there is one window, and it holds each element once."""
        return self.kernel == spatial and not any(self.padding) and set(self.dilations) == {1}


def read_pool(node: OnnxNode) -> tuple[Shape, Shape, Padding, Shape, Shape]:
    """Strides, dilations, pads (with what ceil_mode adds), the window's size, and what ceil_mode adds."""
    kernel, spatial = node.integer_list("kernel_shape"), node.type(0).shape[2:]
    if kernel is None:
        raise Refusal("attribute 'kernel_shape' is missing")
    if len(kernel) not in (1, 2):
        raise Refusal(
            f"{len(kernel)} spatial axes; 1 and 2 are supported",
            "write it as one over two axes: the others as channels or batch",
        )
    strides, dilations, pads = read_window(node, kernel, spatial)
    added = (0,) * len(kernel)
    if node.attribute("ceil_mode", 0):
        walk = zip(spatial, kernel, strides, dilations, pad_spans(pads), strict=True)
        added = tuple(_added(size, reach(taps, d), stride, span) for size, taps, stride, d, span in walk)
    ends = (pad + more for pad, more in zip(pads[len(kernel) :], added, strict=True))
    return strides, dilations, (*pads[: len(kernel)], *ends), kernel, added


def _added(size: int, span: int, stride: int, pads: tuple[int, int]) -> int:
    """Elements beyond the padding that the last window covers; a window that would start there is dropped."""
    room = size + sum(pads) - span
    last = -(-room // stride) * stride
    if last >= size + pads[0]:
        last -= stride
    return max(last - room, 0)
