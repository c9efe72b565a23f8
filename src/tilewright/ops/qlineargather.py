from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import loops, whole
from tilewright.ir.op import Index
from tilewright.ir.requant import NO_CHANGE, Requant
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops.gather import check_indices, inside
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearGather(Internal):
    """requant(X[i] * columns * rows[i]): rows of a matrix in which each row and each column has a scale of its own.

    Weights of a product with a scale for each row are looked up where they lie. An element times its column's factor
    fits 31 bits. Indices are taken as Gather does.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "indices", "rows", "columns")
    accepts: ClassVar[frozenset[str]] = frozenset({"int8", "uint8"})
    roundings: ClassVar[frozenset[Rounding]] = PLAIN
    requant: Requant = NO_CHANGE

    def index(self, shapes: Shapes) -> Index:
        at = loops(" ".join(f"i{axis}" for axis in range(len(shapes["indices"]))))
        (column,) = loops("c")
        along = whole(shapes["X"][0])
        return {"X": (along, column), "indices": at, "rows": (along,), "columns": (column,), "Y": (*at, column)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if len(kind.shape) != 2 or kind.dtype not in self.accepts:
            raise Refusal(f"X is {kind}; a matrix of {' or '.join(sorted(self.accepts))} is expected")
        check_indices(types["indices"], kind.shape[0])
        for name, size in zip(("rows", "columns"), kind.shape, strict=True):
            if types[name] != TensorType("int32", (size,)):
                raise Refusal(f"{name} is {types[name]}, {TensorType('int32', (size,))} expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array, indices: Array, rows: Array, columns: Array) -> Array:
        places = inside(indices, X.shape[0])
        return self.requant(X[places].astype(np.int64) * columns, rows[places][..., None])
