"""One row times a constant matrix, with several columns of the matrix in each filter.

A window has room for 252 weights, and a row may be much shorter. Three columns share a filter where the row is a
column of three pixels: with nothing but padding beside it, the three windows over it see it under their last, middle
and first column of taps. Nine share one where the row is a single pixel.

Channels come in 28s, and rows are often a little longer than some of them: the cores multiply the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, loops, whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.records import dataclass
from tilewright.targets.hwpe.encoding import TAPS, window_codes, window_words
from tilewright.targets.hwpe.jobs import DENSE, LANES, Job
from tilewright.targets.hwpe.linear import NeurekaLinear
from tilewright.targets.hwpe.row import RowCodes, RowImage

SHARED = (1, 3, 9)
"""How many columns may share a filter."""
LONGEST_RUN = 4 * LANES
SIDE = 3
"""Windows along an axis in which the row is one pixel; padding on either side of it is one less."""


@dataclass(frozen=True)
class NeurekaColumns(NeurekaLinear):
    """Y[..., f] from X[..., c], which is one row. Columns come in blocks: the first `run` of a block are those of the
    first window, with a filter each, the next those of the second, with the same filters."""

    operands: ClassVar[tuple[str, ...]] = (*NeurekaLinear.operands, "rest?")
    columns: int = 0
    """Of the matrix; the last block may have fewer than the others."""
    shared: int = SIDE
    run: int = LANES
    rest: int = 0
    """Elements at the end of the row that meet weights of the operand `rest`, one row of them for each column."""

    @property
    def has_whole_codes(self) -> bool:
        return False

    @property
    def block(self) -> int:
        return self.shared * self.run

    def image(self, length: int) -> RowImage:
        """Of a row with so many elements, without the rest."""
        return RowImage(length - self.rest, TAPS // self.shared)

    def index(self, shapes: Shapes) -> Index:
        x = shapes["X"]
        (b,) = loops("b")
        own, words = b * self.block + whole(self.block), b * self.run + whole(self.run)
        ones = (*[whole(1)] * (len(x) - 1),)
        rest = {"rest": (own, whole(self.rest))} if "rest" in shapes else {}
        return {"X": (*ones, whole(x[-1])), **self.constants_index(own, words, shapes), **rest, "Y": (*ones, own)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {"b": shapes["W"][0] // self.run}

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return ((*shapes["X"][:-1], self.columns),)

    def at(self, shapes: Shapes, box: Box) -> Op:
        start, stop = (self.block * end for end in box["b"])
        return replace(self, columns=min(stop, self.columns) - start)

    def macs(self, shapes: Shapes) -> int:
        return shapes["X"][-1] * self.columns

    def check(self, types: Mapping[str, TensorType]) -> None:
        words = self.image(types["X"].shape[-1]).words(self.bits)
        self.check_constants((types["W"].shape[0], words), self.columns, types)
        if ("rest" in types) != bool(self.rest) or (self.rest and types["rest"] != self._rest_type):
            raise Refusal(f"rest is {types.get('rest')}, {self._rest_type} is expected")

    @property
    def _rest_type(self) -> TensorType:
        return TensorType("int8", (self.columns, self.rest))

    def numpy(
        self, X: Array, W: Array, scale: Array | None = None, bias: Array | None = None, add: Array | None = None,
        rest: Array | None = None,
    ) -> Array:  # fmt: skip
        totals = self.totals(X, W)
        if rest is not None:
            totals = totals + exact_matmul(X[..., -self.rest :].astype("int32"), rest.T.astype("int32"))
        totals = self.lifted(totals, scale)
        return self.finished(totals if bias is None else totals + bias[0], scale, add)

    def rows_and_weights(self, X: Array, W: Array) -> tuple[Array, Array]:
        image = self.image(X.shape[-1])
        weights = window_codes(W, image.channels, self.bits) + self.offset
        by_window = weights.reshape(-1, self.run, image.channels, image.taps, self.shared)[..., ::-1]
        columns = by_window.transpose(0, 4, 1, 2, 3).reshape(-1, image.elements.size)
        return X[..., image.elements.reshape(-1)], columns[: self.columns]

    def jobs(self, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
        image, filters = self.image(types["X"].shape[-1]), types["W"].shape[0]
        result = self.npu_result(types)
        out = filters * result.width // 8
        # Where the row is one pixel of an axis, as many windows as see it lie over it, and padding on either side.
        height, width = (1 if pixels == SIDE else SIDE for pixels in (image.rows, image.columns))
        above, beside = height - 1, width - 1
        # No other address is read for padding.
        step = 0 if beside else image.channels
        return [
            Job(
                DENSE, image.channels, filters, height, width, types["X"].dtype == "int8", self.weights(resident),
                result, step, image.row, out, SIDE * out, top=above, left=beside, bottom=above, right=beside,
            )
        ]  # fmt: skip

    def turn_params(self, types: Mapping[str, TensorType]) -> Params:
        """How windows take turns, and what the cores multiply."""
        return {
            "windows": self.shared, "run": self.run, "window": types["W"].shape[0], "words": self.rest // 4,
            "read": types["X"].shape[-1] - self.rest,
        }  # fmt: skip

    def tile_types(self, types: Mapping[str, TensorType], extents: Mapping[str, int]) -> dict[str, TensorType]:
        blocks = extents["b"]
        columns = min(blocks * self.block, self.columns)
        shapes = {"W": (blocks * self.run, types["W"].shape[1]), "Y": (*types["Y"].shape[:-1], columns)}
        shapes["rest"] = columns, self.rest
        return {name: TensorType(kind.dtype, shapes.get(name, kind.shape)) for name, kind in types.items()}


def run_of(columns: int, shared: int) -> int:
    """How many columns of a block one window has: few enough for tiles of any size, many enough for cores to go on."""
    blocks = math.ceil(columns / (shared * LONGEST_RUN))
    return math.ceil(columns / (shared * blocks))


def shared_words(codes: RowCodes, shared: int, rest: int = 0) -> Array:
    """The weights of all columns, so many in a filter, without the rest."""
    apart = codes.of_pixels(TAPS // shared, rest)
    run = run_of(len(apart), shared)
    missing = -len(apart) % (shared * run)
    filled = np.pad(apart, [(0, missing), (0, 0), (0, 0)], constant_values=-codes.offset)
    by_window = filled.reshape(-1, shared, run, *apart.shape[1:])
    filters = by_window.transpose(0, 2, 3, 4, 1)[..., ::-1]
    return window_words(filters.reshape(-1, apart.shape[1], TAPS), codes.bits)
