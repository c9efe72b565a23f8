"""Loop nests of kernels: sizes, and each tensor's stride per loop, with as few loops as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from tilewright.errors import Refusal
from tilewright.ir.types import Shape

MAX_RANK = 8
"""The rank that kernels with strides can walk (TW_MAX_RANK in C); more axes are merged before."""

Axis = TypeVar("Axis")
"""A size, a stride or an index expression of an axis."""

Strides = tuple[int, ...]


def permuted(axes: tuple[Axis, ...], perm: Shape) -> tuple[Axis, ...]:
    """Axes in the order that a Transpose gives them; without an order, as they are."""
    return tuple(axes[axis] for axis in perm) if perm else axes


def unpermuted(axes: tuple[Axis, ...], perm: Shape) -> tuple[Axis, ...]:
    """Axes in the order before a Transpose."""
    return tuple(axes[perm.index(axis)] for axis in range(len(perm))) if perm else axes


def row_major(shape: Shape) -> list[int]:
    """Elements from one value of each axis to the next in a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]


def broadcast_strides(shape: Shape, result: Shape) -> list[int]:
    """Strides of an operand along the axes of the broadcast result: 0 where it is broadcast."""
    padded = (1,) * (len(result) - len(shape)) + shape
    return [0 if size == 1 else step for size, step in zip(padded, row_major(padded), strict=True)]


def merge_loops(sizes: Sequence[int], strides: Mapping[str, Sequence[int]]) -> tuple[Shape, dict[str, Strides]]:
    """The same walk with loops of one dropped and loops joined that every tensor walks as one; never without a loop."""
    if 0 in sizes:
        return (0,), dict.fromkeys(strides, (0,))
    merged: list[int] = []
    kept: dict[str, list[int]] = {name: [] for name in strides}
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        if merged and all(kept[name][-1] == strides[name][axis] * size for name in strides):
            merged[-1] *= size
            for name in strides:
                kept[name][-1] = strides[name][axis]
            continue
        merged.append(size)
        for name in strides:
            kept[name].append(strides[name][axis])
    if len(merged) > MAX_RANK:
        raise Refusal(
            f"{len(merged)} axes that cannot be merged; at most {MAX_RANK} are supported",
            "join axes by a Reshape before it",
        )
    if not merged:
        return (1,), dict.fromkeys(strides, (0,))
    return tuple(merged), {name: tuple(values) for name, values in kept.items()}
