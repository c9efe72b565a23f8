from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Box
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array, Shape, Shapes
from tilewright.ops._elementwise import FLOATS
from tilewright.ops._pool import Pool, read_pool
from tilewright.ops._pool_planes import has_planes, pooled_planes
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.records import dataclass


@dataclass(frozen=True)
class AveragePool(Pool):
    """The mean of each window, over the elements inside X or (`count_pads`) inside the padded X.

    `uncounted` is how much of the padding at the end of each axis counts in no case: what ceil_mode adds.
    """

    accepts = FLOATS
    count_pads: bool = False
    uncounted: Shape = (0, 0)

    def at(self, shapes: Shapes, box: Box) -> Op:
        spatial = zip(self.spatial(shapes["X"]), self._counted_ends, strict=True)
        grown = self.arranged(0, 0, tuple(size + end for size, end in spatial))
        uncounted = self.local_padding(shapes, box, grown)[self.rank :]
        kernel = tuple(box[name][1] - box[name][0] for name in "rs"[-self.rank :])
        padding = self.local_padding(shapes, box, shapes["X"])
        return replace(self, padding=padding, kernel=kernel, uncounted=uncounted)

    @property
    def _counted_ends(self) -> Shape:
        return tuple(end - rest for end, rest in zip(self.padding[self.rank :], self.uncounted, strict=True))

    def accumulate(self, X: Array) -> Array:
        """Sums and counts, one behind the other, so that both can be completed tile by tile."""
        sums = self.patches(X, self.kernel).sum(axis=-1, dtype=np.float32)
        bare = replace(self, padding=(0,) * (2 * self.rank), channels_last=False)
        counts = bare.patches(self._weights(self.spatial(X.shape)), self.kernel).sum(axis=-1)
        return np.stack([self.stored(sums), self.stored(np.broadcast_to(counts, sums.shape))])

    def _weights(self, spatial: Shape) -> Array:
        """1 for each element of the padded X that counts, otherwise 0."""
        pads = [(0, 0), (0, 0), *zip(self.padding[: self.rank], self._counted_ends, strict=True)]
        counted = np.pad(np.ones((1, 1, *spatial), np.float32), pads, constant_values=float(self.count_pads))
        return np.pad(counted, [(0, 0), (0, 0), *((0, end) for end in self.uncounted)])

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return np.asarray(total[0] / np.maximum(total[1], 1), np.float32)

    def gradients(self, at: Adjoint) -> Gradients:
        """Each window hands its own out in equal parts; one that holds all hands it to everybody."""
        shape = at["X"].shape
        channels, spatial = self.channels(shape), self.spatial(shape)
        each = at.gradient * at.gradient.constant(1.0 / self._counts(spatial))
        if self.covers(spatial):
            return {"X": each.expand(shape)}
        taps = each.constant(np.ones(self.arranged(channels, 1, self.kernel)))
        padding = (*self.padding[: self.rank], *(0,) * self.rank)
        window = {"strides": self.strides, "dilations": self.dilations, "padding": padding}
        layout = {"channels_last": self.channels_last}
        return {"X": each.apply("ConvInputGrad", taps, groups=channels, size=spatial, **window, **layout)}

    def _counts(self, spatial: Shape) -> Array:
        """How many elements each window has a mean of."""
        bare = replace(self, padding=(0,) * (2 * self.rank), channels_last=False)
        counts = np.maximum(bare.patches(self._weights(spatial), self.kernel).sum(axis=-1), 1)
        return self.stored(counts)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        strides, dilations, padding, kernel, added = read_pool(node)
        counted = bool(node.attribute("count_include_pad", 0))
        op = cls(strides, dilations, padding, kernel, counted, added)
        return GlobalAveragePool() if op.covers(node.type(0).shape[2:]) else op, node.inputs

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return pooled_planes(cls, node, emit) if has_planes(node) else super().expand(node, emit)
