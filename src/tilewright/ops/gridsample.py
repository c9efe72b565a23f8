from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import loops, whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._grid_gradients import Sampling, gradients_of_grid
from tilewright.records import dataclass

MODES = ("nearest", "linear", "cubic")
PADDINGS = ("zeros", "border", "reflection")
"""Both in the order of their numbers in C."""

CUBIC = -0.75
"""The coefficient of the cubic."""


@dataclass(frozen=True)
class GridSample(Op):
    """X at places between its elements: a point of the grid is a position, -1 to 1 along each axis, the last first."""

    operands: ClassVar[tuple[str, ...]] = ("X", "grid")
    mode: str = "linear"
    padding: str = "zeros"
    align_corners: bool = False

    def index(self, shapes: Shapes) -> Index:
        n, c = loops("n c")
        points = loops(" ".join(f"p{axis}" for axis in range(len(shapes["X"]) - 2)))
        image = map(whole, shapes["X"][2:])
        return {"X": (n, c, *image), "grid": (n, *points, whole(len(points))), "Y": (n, c, *points)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        points = {f"p{axis}": size for axis, size in enumerate(shapes["grid"][1:-1])}
        return {"n": shapes["X"][0], "c": shapes["X"][1]} | points

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, grid = types["X"].shape, types["grid"].shape
        if self.mode not in MODES or self.padding not in PADDINGS:
            raise Refusal(
                f"mode {self.mode} with padding {self.padding} is not supported",
                f"known: {', '.join(MODES + PADDINGS)}",
            )
        if any(kind.dtype != "float32" for kind in types.values()):
            raise Refusal("operands that are not float32", "insert a Cast")
        if not 3 <= len(x) <= 5 or len(grid) != len(x) or grid[0] != x[0] or grid[-1] != len(x) - 2 or 0 in x[2:]:
            raise Refusal(f"a grid of shape {grid} for shape {x}")

    def numpy(self, X: Array, grid: Array) -> Array:
        sizes, places = X.shape[2:], np.moveaxis(grid[..., ::-1], -1, 0)
        taps = [self._taps(where, size) for where, size in zip(places, sizes, strict=True)]
        total = np.zeros((X.shape[0], *grid.shape[1:-1], X.shape[1]), np.float64)
        batch = np.arange(X.shape[0]).reshape(-1, *(1,) * (grid.ndim - 2))
        for chosen in np.ndindex(*(len(tap[0]) for tap in taps)):
            at = [tap[0][number] for tap, number in zip(taps, chosen, strict=True)]
            weight = math.prod(tap[1][number] for tap, number in zip(taps, chosen, strict=True))
            total += np.moveaxis(X, 1, -1)[(batch, *at)] * np.asarray(weight)[..., None]
        return np.ascontiguousarray(np.moveaxis(total, -1, 1), np.float32)

    def _taps(self, where: Array, size: int) -> tuple[Sequence[Array], Sequence[Array]]:
        """The elements that a place along an axis is made of, and their weights."""
        low, high = (0.0, size - 1.0) if self.align_corners else (-0.5, size - 0.5)
        place = (where.astype(np.float32) + 1) / 2 * (size - 1) if self.align_corners else ((where + 1) * size - 1) / 2
        place = np.rint(place) if self.mode == "nearest" else place
        if self.padding == "border" and self.mode != "cubic":
            place = _held(place, size)
        if self.padding == "reflection":
            place = reflected(place, low, high)
        first = np.floor(place)
        offsets, weights = _weights(self.mode, place - first)
        found = [self._element(first + offset, size, low, high) for offset in offsets]
        elements, counted = zip(*found, strict=True)
        return elements, [np.where(*one, 0).astype(np.float64) for one in zip(counted, weights, strict=True)]

    def _element(self, at: Array, size: int, low: float, high: float) -> tuple[Array, Array]:
        """An index that is inside, and whether it counts."""
        inside = ((at >= 0) & (at < size)) if self.padding == "zeros" else np.ones(at.shape, np.bool_)
        at = reflected(at, low, high) if self.padding == "reflection" else at
        return _held(at, size).astype(np.int64), inside

    def gradients(self, at: Adjoint) -> Gradients:
        sampling = Sampling(self.mode, self.padding, self.align_corners, CUBIC)
        by_grid = at.wants("grid") and self.mode != "nearest"
        return gradients_of_grid(at["X"], at["grid"], at.gradient, sampling, by_grid)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        mode = node.attribute("mode", "linear")
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
        padding, align = node.attribute("padding_mode", "zeros"), node.attribute("align_corners", 0)
        return cls(mode, padding, bool(align)), node.inputs


def _held(place: Array, size: int) -> Array:
    """Inside of an axis; what is not a number is at its beginning."""
    return np.where(place >= 0, np.minimum(place, size - 1), 0)


def reflected(place: Array, low: float, high: float) -> Array:
    """Places outside thrown back at the borders, as often as it takes."""
    span = high - low
    if span <= 0:
        return np.full_like(place, low)
    turns, rest = np.divmod(np.abs(place - low), span)
    return np.where(turns % 2 == 0, low + rest, high - rest)


def _weights(mode: str, rest: Array) -> tuple[Sequence[int], list[Array]]:
    if mode == "nearest":
        return (0,), [np.ones_like(rest)]
    if mode == "linear":
        return (0, 1), [1 - rest, rest]
    near = [((CUBIC + 2) * t - (CUBIC + 3)) * t * t + 1 for t in (rest, 1 - rest)]
    far = [((CUBIC * t - 5 * CUBIC) * t + 8 * CUBIC) * t - 4 * CUBIC for t in (rest + 1, 2 - rest)]
    return (-1, 0, 1, 2), [far[0], near[0], near[1], far[1]]
