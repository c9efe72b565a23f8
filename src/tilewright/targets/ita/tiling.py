"""Between rows as others have them and ITA's tiles. Bytes without a sign lose 128 on the way in, and get it back on the
way out: their highest bit is flipped. Where rows lie outside anyway, tiles are made on the way, by transfers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, Span, axis_loops, loops, whole
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass
from tilewright.targets.ita.layout import SIDE, as_matrix, as_tiles, tiles_of
from tilewright.targets.ita.op import TILE, check_tiles

FLIPPED = np.uint8(0x80)


@dataclass(frozen=True)
class ItaTiles(Internal):
    """X[..., rows, columns] in tiles of 64 x 64, with zeros where there is nothing of X."""

    flips: bool = False

    def index(self, shapes: Shapes) -> Index:
        before = axis_loops(len(shapes["X"]) - 2)
        r, c = loops("r c")
        return {"X": (*before, r * SIDE + whole(SIDE), c * SIDE + whole(SIDE)), "Y": (*before, r, c, *TILE)}

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        last = len(shapes["X"]) - 2
        return {("X", last + i): (0, -size % SIDE) for i, size in enumerate(shapes["X"][-2:])}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != _rows_dtype(self.flips) or len(types["X"].shape) < 2:
            raise Refusal(f"X is {types['X']}, matrices of {_rows_dtype(self.flips)} are expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int8",)

    def numpy(self, X: Array) -> Array:
        return as_tiles((X ^ FLIPPED).view(np.int8) if self.flips else X)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return _matrices(types["X"].shape, self.flips)


@dataclass(frozen=True)
class ItaRows(Internal):
    """The first rows and columns of a tensor in tiles."""

    operands: ClassVar[tuple[str, ...]] = ("X",)
    rows: int = SIDE
    columns: int = SIDE
    flips: bool = False

    def index(self, shapes: Shapes) -> Index:
        before = axis_loops(len(shapes["X"]) - 4)
        r, c = loops("r c")
        y = (r * SIDE + whole(min(self.rows, SIDE)), c * SIDE + whole(min(self.columns, SIDE)))
        return {"X": (*before, r, c, *TILE), "Y": (*before, *y)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_tiles(types, "X")
        if types["X"].shape[-4:-2] != (tiles_of(self.rows), tiles_of(self.columns)):
            raise Refusal(f"X is {types['X']}, tiles of {self.rows} x {self.columns} are expected")

    def result_shapes(self, shapes: Shapes) -> tuple[tuple[int, ...], ...]:
        return ((*shapes["X"][:-4], self.rows, self.columns),)

    def at(self, shapes: Shapes, box: Box) -> Op:
        (r0, r1), (c0, c1) = box["r"], box["c"]
        rows, columns = min(self.rows, r1 * SIDE) - r0 * SIDE, min(self.columns, c1 * SIDE) - c0 * SIDE
        return replace(self, rows=rows, columns=columns)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (_rows_dtype(self.flips),)

    def numpy(self, X: Array) -> Array:
        rows = as_matrix(X)[..., : self.rows, : self.columns]
        return rows.view(np.uint8) ^ FLIPPED if self.flips else rows

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return _matrices(types["Y"].shape, self.flips)


@dataclass(frozen=True)
class TilesOfRows(Internal):
    """X[..., rows, columns] as tiles, where it lies: who reads them has them brought tile by tile."""

    view: ClassVar[bool] = True

    def index(self, shapes: Shapes) -> Index:
        return ItaTiles().index(shapes)

    def check(self, types: Mapping[str, TensorType]) -> None:
        ItaTiles().check(types)
        if any(size % SIDE for size in types["X"].shape[-2:]):
            raise Refusal(f"X is {types['X']}, whole tiles of {SIDE} x {SIDE} are expected")

    def bytes_order(self, shapes: Shapes) -> tuple[str, tuple[int, ...]]:
        return "Y", _order_of_rows(len(shapes["X"]) + 2)

    def numpy(self, X: Array) -> Array:
        return as_tiles(X)


@dataclass(frozen=True)
class RowsOfTiles(Internal):
    """Whole tiles as rows: who makes the tiles has each of them brought to its place among the rows."""

    view: ClassVar[bool] = True

    def index(self, shapes: Shapes) -> Index:
        return ItaRows().index(shapes)

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_tiles(types, "X")

    def bytes_order(self, shapes: Shapes) -> tuple[str, tuple[int, ...]]:
        return "X", _order_of_rows(len(shapes["X"]))

    def numpy(self, X: Array) -> Array:
        return as_matrix(X)


def _order_of_rows(rank: int) -> tuple[int, ...]:
    """The axes of a tensor in tiles as rows have them: those of a tile's row, of a row, of all."""
    return (*range(rank - 4), rank - 4, rank - 2, rank - 3, rank - 1)


def _rows_dtype(flips: bool) -> str:
    return "uint8" if flips else "int8"


def _matrices(shape: Shape, flips: bool) -> Params:
    return {"batch": math.prod(shape[:-2]), "rows": shape[-2], "columns": shape[-1], "flips": int(flips)}
