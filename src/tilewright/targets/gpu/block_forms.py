"""Products with weights in blocks, and lookups of their rows, with every row laid out as kernels of a GPU read it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.block_formats import SMALL
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._activation import activated
from tilewright.ops._internal import Internal
from tilewright.ops.gather import check_indices, inside
from tilewright.records import dataclass
from tilewright.targets.cpu.block_packing import FLOATS, LAYOUTS, Panels

FORMATS = (*LAYOUTS, *FLOATS)


def layout(name: str) -> Panels:
    """Of rows one by one."""
    return Panels(name, 1, is_unsigned=True)


@dataclass(frozen=True)
class BlockProduct(Internal):
    """As BlockMatMul of floats, with B [columns, bytes of a row]; then an activation."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "C?")
    multiplies: ClassVar[bool] = True
    format: str = "Q8_0"
    activation: Op | None = field(default=None, kw_only=True)

    def index(self, shapes: Shapes) -> Index:
        rows, (n,) = axis_loops(len(shapes["A"]) - 1), loops("n")
        bias = {"C": (n,)} if "C" in shapes else {}
        return {"A": (*rows, whole(shapes["A"][-1])), "B": (n, whole(shapes["B"][1])), **bias, "Y": (*rows, n)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["A"][:-1])} | {"n": shapes["B"][0]}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(self.extents(shapes))

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["A"]) * shapes["B"][0]

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_rows(self.format, types["A"], types["B"])

    def accumulate(self, A: Array, B: Array, *rest: Array | None) -> Array:
        return np.asarray(A @ values(self.format, B, A.shape[-1]).T, np.float32)

    def finish(self, total: Array, shapes: Shapes, *arrays: Any, **named: Any) -> Array:
        bias = arrays[2] if len(arrays) > 2 else None
        return np.asarray(activated(self.activation, total if bias is None else total + bias), np.float32)


@dataclass(frozen=True)
class RowsOfBlocks(Internal):
    """As BlockGather, with W [words, bytes of a row]."""

    operands: ClassVar[tuple[str, ...]] = ("W", "indices")
    format: str = "Q8_0"
    width: int = SMALL

    def index(self, shapes: Shapes) -> Index:
        at = loops(" ".join(f"i{axis}" for axis in range(len(shapes["indices"]))))
        return {"W": tuple(map(whole, shapes["W"])), "indices": at, "Y": (*at, whole(self.width))}

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return ((*shapes["indices"], self.width),)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_rows(self.format, TensorType("float32", (self.width,)), types["W"])
        check_indices(types["indices"], types["W"].shape[0])

    def numpy(self, W: Array, indices: Array) -> Array:
        rows = W[inside(indices, len(W))].reshape(-1, W.shape[1])
        return values(self.format, rows, self.width).reshape(*indices.shape, self.width)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        length, row_bytes = types["W"].shape
        return {"count": types["indices"].elements, "inner": self.width, "length": length, "row_bytes": row_bytes}


def values(name: str, rows: Array, inner: int) -> Array:
    """What bytes of rows stand for."""
    return layout(name).values(np.ascontiguousarray(rows), len(rows), inner)


def check_rows(name: str, rows: TensorType, weights: TensorType) -> None:
    if rows.dtype != "float32" or not rows.shape or rows.shape[-1] % SMALL:
        raise Refusal(f"rows {rows}; floats are expected, {SMALL} at a time")
    if weights.dtype != "uint8" or weights.shape[1:] != (layout(name).panel_bytes(rows.shape[-1]),):
        raise Refusal(f"rows {rows} with weights {weights} in {name}")
