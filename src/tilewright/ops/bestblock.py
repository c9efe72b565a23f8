from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, axis_loops
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass


@dataclass(frozen=True)
class BestBlock(Internal):
    """The word that is best of all, from the best of each block of words and its place there; the first of equals."""

    operands: ClassVar[tuple[str, ...]] = ("best", "place")
    block: int = 1

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["best"]))
        return {"best": axes, "place": axes, "Y": (*axes[:-1], FIRST)}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['best']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["best"].shape
        if not shape or not shape[-1] or types["place"] != TensorType("int32", shape):
            raise Refusal(f"places are {types['place']} for {types['best']}")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int64",)

    def numpy(self, best: Array, place: Array) -> Array:
        which = np.argmax(best, -1)[..., None]
        return np.take_along_axis(place, which, -1).astype(np.int64) + which * self.block
