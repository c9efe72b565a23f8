from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Box, Span, loops, whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ir.value import Value
from tilewright.ops._compose import Compose
from tilewright.ops._conv_planes import Depth, expanded, planes_apart, planes_as_channels, planes_back
from tilewright.ops._filters import Filters, kernel_of
from tilewright.ops._linear import centred
from tilewright.ops._spatial import read_pads, read_strides
from tilewright.ops._windows import reach
from tilewright.ops.conv import Conv
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvTranspose(Filters):
    """Each input element adds its filter to the output: Y[i*stride + r*dilation - before] += X[i] * W[r].

    X[n, g*c, ...], W[g*c, f, ...], B[g*f]. `spatial` is the size of the result; what falls outside is dropped.
    """

    strides: Shape = (1, 1)
    dilations: Shape = (1, 1)
    before: tuple[int, ...] = (0, 0)
    """What is cut off at the start of each spatial axis; negative inside tiles that begin between two inputs."""
    spatial: Shape = (1, 1)

    @property
    def rank(self) -> int:
        return len(self.strides)

    def index(self, shapes: Shapes) -> Index:
        n, g, f, c = loops("n g f c")
        channels, filters = shapes["X"][1] // self.groups, shapes["W"][1]
        return {
            "X": (n, g * channels + c, *map(whole, shapes["X"][2:])),
            "W": (g * channels + c, f, *loops("r s")[-self.rank :]),
            **self.per_filter_index(g * filters + f, shapes),
            "Y": (n, g * filters + f, *loops("y x")[-self.rank :]),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        sizes = {"n": shapes["X"][0], "g": self.groups, "f": shapes["W"][1], "c": shapes["X"][1] // self.groups}
        outs = dict(zip("yx"[-self.rank :], self.spatial, strict=True))
        return sizes | outs | dict(zip("rs"[-self.rank :], shapes["W"][2:], strict=True))

    def footprint(self, shapes: Shapes, box: Box) -> dict[str, tuple[Span, ...]]:
        spans = super().footprint(shapes, box)
        return {**spans, "X": (*spans["X"][:2], *(self._read(axis, box) for axis in range(self.rank)))}

    def _read(self, axis: int, box: Box) -> Span:
        """The inputs that reach a range of outputs through a range of taps."""
        (first, end), (tap, taps_end) = box["yx"[-self.rank :][axis]], box["rs"[-self.rank :][axis]]
        stride, dilation, before = self.strides[axis], self.dilations[axis], self.before[axis]
        start = -(-(first + before - (taps_end - 1) * dilation) // stride)
        return start, max(start, (end - 1 + before - tap * dilation) // stride + 1)

    def at(self, shapes: Shapes, box: Box) -> Op:
        spans = self.footprint(shapes, box)
        before = tuple(self._local_before(axis, spans["X"][2 + axis][0], shapes, box) for axis in range(self.rank))
        spatial = tuple(box[name][1] - box[name][0] for name in "yx"[-self.rank :])
        return replace(self, before=before, spatial=spatial, groups=box["g"][1] - box["g"][0])

    def _local_before(self, axis: int, start: int, shapes: Shapes, box: Box) -> int:
        first, tap = box["yx"[-self.rank :][axis]][0], box["rs"[-self.rank :][axis]][0]
        start = min(max(start, 0), shapes["X"][2 + axis])
        return self.before[axis] + first - start * self.strides[axis] - tap * self.dilations[axis]

    def check(self, types: Mapping[str, TensorType]) -> None:
        self._check_channels(types["X"].shape, types["W"].shape)
        self.check_filters(types["W"].shape[1] * self.groups, types)

    def _check_channels(self, x: Shape, w: Shape) -> None:
        if len(x) != self.rank + 2 or len(w) != self.rank + 2:
            raise Refusal(f"X has {len(x)} axes and W {len(w)}, both should have {self.rank + 2}")
        if self.groups < 1 or x[1] % self.groups or x[1] != w[0]:
            raise Refusal(f"X has {x[1]} channels, W {w[0]}, in {self.groups} groups")

    def accumulate(self, X: Array, W: Array, *rest: Array | None) -> Array:
        n, channels, *ins = X.shape
        g, filters, taps = self.groups, W.shape[1], W.shape[2:]
        pixels = centred(X, self.x_zero).reshape(n, g, channels // g, math.prod(ins))
        weights = centred(W, self.w_zero).reshape(g, channels // g, filters * math.prod(taps))
        products = exact_matmul(weights.transpose(0, 2, 1), pixels).reshape(n, g * filters, *taps, *ins)
        total = np.zeros((n, g * filters, *self.spatial), products.dtype)
        for tap in np.ndindex(*taps):
            self._scatter(total, products[(slice(None), slice(None), *tap)], tap)
        return total

    def _scatter(self, total: Array, part: Array, tap: tuple[int, ...]) -> None:
        """Add what one tap contributes, without what falls outside."""
        source, target = [], []
        for axis, size in enumerate(part.shape[2:]):
            stride, shift = self.strides[axis], tap[axis] * self.dilations[axis] - self.before[axis]
            first = max(0, -(shift // stride))
            last = min(size, (self.spatial[axis] - 1 - shift) // stride + 1)
            source.append(slice(first, max(last, first)))
            target.append(slice(first * stride + shift, max(last, first) * stride + shift, stride))
        if all(part_of.stop > part_of.start for part_of in source):
            total[(slice(None), slice(None), *target)] += part[(slice(None), slice(None), *source)]

    def gradients(self, at: Adjoint) -> Gradients:
        """Those of the convolution that it is the adjoint of, with image and result in each other's place."""
        x, filters = at["X"], at["W"]
        walk = zip(x.shape[2:], self.strides, filters.shape[2:], self.dilations, self.before, self.spatial, strict=True)
        after = [(n - 1) * step + reach(taps, d) - cut - size for n, step, taps, d, cut, size in walk]
        # What is behind all that reaches the result is cut off, and what reaches beyond it read as zeros.
        cuts = [(min(cut, 0), min(end, 0)) for cut, end in zip(self.before, after, strict=True)]
        seen = at.gradient.pad([(0, 0), (0, 0), *cuts])
        padding = (*(max(cut, 0) for cut in self.before), *(max(end, 0) for end in after))
        conv = Conv(self.strides, self.dilations, padding, self.groups)
        found: dict[str, Value] = {}
        if at.wants("X"):
            window = {"strides": self.strides, "dilations": self.dilations, "padding": padding}
            found["X"] = seen.apply("Conv", filters, groups=self.groups, **window)
        if at.wants("W"):
            found["W"] = conv.by_filters(Adjoint({"X": seen, "W": filters}, {"Y": x}, {"Y": x}, frozenset("W")))
        return found | ({"B": conv.by_bias(at)} if at.wants("B") else {})

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[ConvTranspose, Sequence[str]]:
        kernel, ins = kernel_of(node), node.type(0).shape[2:]
        if len(ins) != len(kernel):
            raise Refusal(f"W has {len(kernel)} spatial axes, X has {len(ins)}")
        strides, dilations = read_strides(node, len(kernel))
        before, spatial = _geometry(node, kernel, ins, strides, dilations)
        op = cls(
            node.attribute("group", 1), strides=strides, dilations=dilations, before=before, spatial=spatial
        )  # fmt: skip
        return op, node.inputs

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        op, inputs = cls.from_onnx(node)
        return expanded(op, inputs, node, emit) if op.rank == 3 else super().expand(node, emit)

    def applied(self, make: Compose, x: str, w: str, bias: str) -> str:
        """Along the first of three axes a convolution with the taps in reverse, over planes with zeros between them."""
        self._check_channels(make.shape(x), make.shape(w))
        channels, filters, taps, *kernel = make.shape(w)
        spread = planes_apart(make, x, self.strides[0], self.x_zero)
        last, cut = reach(taps, self.dilations[0]) - 1, self.before[0]
        depth = Depth(taps, 1, self.dilations[0], last - cut, self.spatial[0] + cut - make.shape(spread)[2])
        planes = planes_as_channels(make, spread, depth, self.groups, self.x_zero)
        groups = (self.groups, channels // self.groups, filters, taps, math.prod(kernel))
        turned = make.reshape(make.part(w, 2, -1, -taps - 1, -1), groups)
        flat = make.reshape(make.transpose(turned, (0, 3, 1, 2, 4)), (taps * channels, filters, *kernel))
        flatter = replace(self, strides=self.strides[1:], dilations=self.dilations[1:], before=self.before[1:],
                          spatial=self.spatial[1:])  # fmt: skip
        return planes_back(make, make(flatter, planes, flat, bias), make.shape(x)[0])


def _geometry(
    node: OnnxNode, kernel: Shape, ins: Shape, strides: Shape, dilations: Shape
) -> tuple[tuple[int, ...], Shape]:
    """What is cut off at the start, and the size of the result, for each spatial axis."""
    rank = len(kernel)
    pads = read_pads(node, rank)
    extra = tuple(node.attribute("output_padding", (0,) * rank))
    wanted, mode = tuple(node.attribute("output_shape", ())), node.attribute("auto_pad", "NOTSET")
    full = [(n - 1) * s + reach(k, d) + e for n, s, k, d, e in zip(ins, strides, kernel, dilations, extra, strict=True)]
    if mode == "VALID":
        pads = (0,) * (2 * rank)
    if not wanted and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = tuple(min(size * stride, most) for size, stride, most in zip(ins, strides, full, strict=True))
    if not wanted:
        return pads[:rank], tuple(size - pads[i] - pads[rank + i] for i, size in enumerate(full))
    total = [max(size - out, 0) for size, out in zip(full, wanted[-rank:], strict=True)]
    upper = mode == "SAME_UPPER"
    return tuple(t // 2 if upper else t - t // 2 for t in total), wanted[-rank:]
