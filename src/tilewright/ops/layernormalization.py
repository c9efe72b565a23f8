from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import FIRST
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes
from tilewright.ops._normalisation import RowNormalisation
from tilewright.records import dataclass


@dataclass(frozen=True)
class LayerNormalization(RowNormalisation):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over the axes from `axis` on."""

    operands: ClassVar[tuple[str, ...]] = ("X", "Scale?", "B?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Mean", "InvStdDev")

    def index(self, shapes: Shapes) -> Index:
        index = super().index(shapes)
        outer = self.axis % len(shapes["X"])
        rows = (*index["X"][:outer], *(FIRST,) * (len(shapes["X"]) - outer))
        return {**index, "Mean": rows, "InvStdDev": rows}

    def numpy(self, X: Array, Scale: Array | None = None, B: Array | None = None) -> tuple[Array, Array, Array]:
        axes = tuple(range(self.axis % X.ndim, X.ndim))
        wide = X.astype(np.float64)
        mean = wide.mean(axis=axes, keepdims=True)
        inverse = 1 / np.sqrt(((wide - mean) ** 2).mean(axis=axes, keepdims=True) + self.epsilon)
        result = (wide - mean) * inverse
        result = result if Scale is None else result * Scale
        result = result if B is None else result + B
        return result.astype(np.float32), mean.astype(np.float32), inverse.astype(np.float32)

    def gradients(self, at: Adjoint) -> Gradients:
        x, axes = at["X"], self.row_axes(at["X"].rank)
        centred = x - x.mean(axes)
        inverse = 1.0 / (centred.squared().mean(axes) + self.epsilon).sqrt()
        normal = centred * inverse
        scaled = at.gradient * at["Scale"] if "Scale" in at else at.gradient
        by_x = inverse * (scaled - scaled.mean(axes) - normal * (scaled * normal).mean(axes))
        return {"X": by_x, "Scale": at.gradient * normal, "B": at.gradient}
