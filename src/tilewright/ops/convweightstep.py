from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvWeightStep(Internal, ConvWeightGrad):
    """Filters W after a step down their gradient: W less `rate` times what ConvWeightGrad gives, which needs no memory
    of its own. A rate of zero leaves W as it is, even where the gradient is no number."""

    operands: ClassVar[tuple[str, ...]] = ("X", "G", "W", "rate")
    overwrites: ClassVar[Mapping[str, str]] = MappingProxyType({"Y": "W"})

    def index(self, shapes: Shapes) -> Index:
        found = super().index(shapes)
        return {"X": found["X"], "G": found["G"], "W": found["Y"], "rate": (whole(1),), "Y": found["Y"]}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(self.extents(shapes))

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        shapes = {name: kind.shape for name, kind in types.items()}
        if (shapes["W"],) != self.result_shapes(shapes) or shapes["rate"] != (1,):
            raise Refusal(f"filters of shape {shapes['W']}, a rate of shape {shapes['rate']}")

    def numpy(self, X: Array, G: Array, W: Array, rate: Array) -> Array:
        return (W - self.accumulate(X, G) * rate[0]).astype(np.float32) if rate[0] else W.copy()
