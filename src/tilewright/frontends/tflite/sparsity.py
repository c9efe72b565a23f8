"""Sparse constants of a TensorFlow Lite file, made dense: which elements are stored is listed axis by axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tflite

from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

MOST_ELEMENTS = 2**26
"""Of a tensor that is made dense: a few bytes of an untrusted file may claim any shape."""
VECTORS = {
    tflite.SparseIndexVector.Int32Vector: tflite.Int32Vector,
    tflite.SparseIndexVector.Uint16Vector: tflite.Uint16Vector,
    tflite.SparseIndexVector.Uint8Vector: tflite.Uint8Vector,
}


class Damaged(Exception):
    """What a file holds contradicts itself."""


@dataclass(frozen=True, eq=False)
class Level:
    """One axis, in the order in which elements are stored: all positions, or those that are listed."""

    size: int
    """Of a dense level."""
    listed: tuple[Array, Array] | None = None
    """Of a sparse one: where the list of each position of the levels before begins, and all lists."""

    def below(self, before: Array) -> Array:
        """The coordinates [stored, levels so far] of the level before, with those of this level."""
        count = len(before)
        if self.listed is None:
            own, repeats = np.tile(np.arange(self.size), count), np.full(count, self.size)
        else:
            first, own = self.listed
            repeats = np.diff(first)
            if len(first) != count + 1 or first[0] != 0 or first[-1] != len(own) or min(repeats, default=0) < 0:
                raise Damaged(f"lists of {len(first) - 1} positions, {count} expected, with {len(own)} elements")
        return np.column_stack([np.repeat(before, repeats, axis=0), own])


def dense(sparsity: Any, stored: Array, shape: Shape) -> Array:
    """The whole tensor: zero where nothing is stored."""
    order = [int(axis) for axis in _numbers(sparsity, "TraversalOrder")]
    blocks = [int(axis) for axis in _numbers(sparsity, "BlockMap")]
    levels = [_level(sparsity.DimMetadata(i)) for i in range(min(sparsity.DimMetadataLength(), len(order)))]
    if sorted(order) != list(range(len(shape) + len(blocks))) or len(levels) != len(order):
        raise Damaged(f"order {order} of {len(levels)} levels for {len(shape)} axes and {len(blocks)} of blocks")
    if math.prod(shape) > MOST_ELEMENTS:
        raise Damaged(f"shape {shape}: at most {MOST_ELEMENTS} elements of sparse tensors are supported")
    coordinates = _coordinates(levels, len(stored))[:, np.argsort(order)]
    if len(coordinates) != len(stored):
        raise Damaged(f"{len(stored)} elements stored for {len(coordinates)} positions")
    sizes = [level.size for _, level in sorted(zip(order, levels, strict=True), key=lambda pair: pair[0])]
    made = np.zeros(shape, stored.dtype)
    made[_positions(coordinates, blocks, sizes[len(shape) :], shape)] = stored
    return made


def _coordinates(levels: Sequence[Level], stored: int) -> Array:
    """Of all stored elements, level by level. Never more than the file has elements, or beginnings of lists, for."""
    most = max([stored, *(len(level.listed[0]) for level in levels if level.listed is not None)])
    found = np.zeros((1, 0), np.int64)
    for level in levels:
        if level.listed is None and not 0 <= level.size * len(found) <= most:
            raise Damaged(f"{len(found)} times {level.size} positions, but at most {most} are stored")
        found = level.below(found)
    return found


def _positions(coordinates: Array, blocks: Sequence[int], sizes: Sequence[int], shape: Shape) -> tuple[Array, ...]:
    """Axis by axis: a block's position times its size, and the position in the block."""
    axes = [coordinates[:, axis] for axis in range(len(shape))]
    for number, (axis, size) in enumerate(zip(blocks, sizes, strict=True)):
        axes[axis] = axes[axis] * size + coordinates[:, len(shape) + number]
    for axis, positions in enumerate(axes):
        if len(positions) and not 0 <= positions.min() <= positions.max() < shape[axis]:
            raise Damaged(f"elements beyond axis {axis} of shape {shape}")
    return tuple(axes)


def _level(given: Any) -> Level:
    if given.Format() == tflite.DimensionType.DENSE:
        return Level(given.DenseSize())
    if given.Format() != tflite.DimensionType.SPARSE_CSR:
        raise Damaged(f"a level of format {given.Format()}")
    first = _vector(given.ArraySegmentsType(), given.ArraySegments())
    return Level(0, (first, _vector(given.ArrayIndicesType(), given.ArrayIndices())))


def _vector(kind: int, table: Any) -> Array:
    if kind not in VECTORS or table is None:
        raise Damaged(f"a list of kind {kind}")
    vector = VECTORS[kind]()
    vector.Init(table.Bytes, table.Pos)
    return _numbers(vector, "Values").astype(np.int64)


def _numbers(table: Any, name: str) -> Array:
    return np.asarray(getattr(table, f"{name}AsNumpy")() if getattr(table, f"{name}Length")() else np.zeros(0, int))
