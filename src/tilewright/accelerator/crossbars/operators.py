"""The convolution that crossbars compute: as `Conv`, but with what cells, inputs and ADCs make of its products."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tilewright.accelerator.crossbars.cells import Cells, products
from tilewright.errors import present
from tilewright.ir.affine import Box
from tilewright.ir.op import Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.target.params import Types, fill_of

OFFSETS = {"int8": 128, "uint8": 0}
"""Between a byte and the unsigned one that rows are given."""


@dataclass(frozen=True)
class CrossbarConv(Conv):
    """Of one group over two axes; `cells` say where its weights are."""

    cells: Cells | None = None

    @property
    def held_in(self) -> Cells:
        return present(self.cells, self.kind, "has no cells")

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        """It is in its crossbars as a whole, and vectors take turns at copies."""
        return frozenset(self.extents(shapes))

    def adds_up(self, weights: Shape) -> bool:
        """Noise, and what an ADC loses, depend on which weights stand in a column."""
        return self.held_in.is_exact(math.prod(weights[1:]))

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(super().at(shapes, box), cells=self.cells)  # type: ignore[call-arg]

    def accumulate(self, X: Array, W: Array, *rest: Array | None) -> Array:
        if self.held_in.is_exact(math.prod(W.shape[1:])):
            return super().accumulate(X, W, *rest)
        offset = OFFSETS[X.dtype.name]
        filters = self.channels_second(W).reshape(len(W), -1).T.astype(np.int64)
        patches = self.patches(X.astype(np.int32) + offset, self.spatial(W.shape), self.x_zero + offset)
        n, channels, *outs, taps = patches.shape
        vectors = np.moveaxis(patches, 1, -2).reshape(-1, channels * taps)
        total = products(self.held_in, vectors, filters)
        # What is left is digital: the offset of inputs, and the zero points.
        zeros = self.x_zero + offset
        total -= zeros * filters.sum(0)
        total -= self.w_zero * (vectors.astype(np.int64) - zeros).sum(1, keepdims=True)
        shaped = total.reshape(n, *outs, len(W)).astype(np.int32)
        return self.stored(np.moveaxis(shaped, -1, 1))

    def params(self, types: Types) -> Params:
        fill = present(fill_of(Conv), self.kind, "has no parameters")
        return {**fill(self, types), **self._of_cells(types)}

    def _of_cells(self, types: Types) -> Params:
        """What else jobs are told and cost."""
        cells, w = self.held_in, types["W"].shape
        length, filters = math.prod(w[1:]), w[0]
        down, across = cells.blocks(length, filters)
        return {
            **{f"cell_{name}": value for name, value in vars(cells).items()}, "cell_phases": cells.phases,
            "cell_vectors": _vectors(types["Y"], filters), "cell_crossbars": down * across,
            "cell_written": 0 if cells.resident else length * across,
        }  # fmt: skip


def _vectors(result: TensorType, filters: int) -> int:
    return result.elements // filters


OPERATORS = {CrossbarConv.__name__: CrossbarConv}
"""By their names in patterns."""
