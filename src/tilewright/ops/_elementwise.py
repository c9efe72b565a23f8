"""Bases of operators that work element by element, with numpy broadcasting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilewright.affine import FIRST, Affine, axis_loops
from tilewright.errors import Refusal
from tilewright.op import Index, Op, Params
from tilewright.types import Shape, Shapes, TensorType

MAX_RANK = 8
"""The rank that kernels with strides can walk (TW_MAX_RANK in C); more axes are merged before."""


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The common shape, or a refusal that names them."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " and ".join("x".join(map(str, shape)) or "scalar" for shape in shapes)
        raise Refusal(f"shapes {text} do not broadcast together") from None


def broadcast_index(shape: Shape, result: Shape) -> tuple[Affine, ...]:
    """How an operand is indexed by the loops over the broadcast result."""
    loops = axis_loops(len(result))[len(result) - len(shape) :]
    sizes = result[len(result) - len(shape) :]
    return tuple(loop if size == full else FIRST for loop, size, full in zip(loops, shape, sizes, strict=True))


@dataclass(frozen=True)
class Elementwise(Op):
    """Any number of operands, broadcast together."""

    elementwise: ClassVar[bool] = True
    accepts: ClassVar[frozenset[str] | None] = None
    """Element types that the operator is defined on; None for all."""

    def index(self, shapes: Shapes) -> Index:
        result = broadcast(list(shapes.values()))
        maps = {name: broadcast_index(shape, result) for name, shape in shapes.items()}
        return {**maps, "Y": axis_loops(len(result))}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(broadcast(list(shapes.values())))}

    def check(self, types: Mapping[str, TensorType]) -> None:
        for name, kind in types.items():
            if self.accepts is not None and kind.dtype not in self.accepts:
                raise Refusal(f"{name} is {kind.dtype}; supported: {', '.join(sorted(self.accepts))}")

    def params(self, types: Mapping[str, TensorType]) -> Params:
        shapes = {name: kind.shape for name, kind in types.items()}
        operands = {name: shape for name, shape in shapes.items() if name != "Y"}
        return broadcast_params(shapes["Y"], operands)


FLOATS = frozenset({"float32"})
NUMBERS = frozenset({"float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"})


@dataclass(frozen=True)
class Unary(Elementwise):
    """One operand; float only unless a subclass says more."""

    accepts: ClassVar[frozenset[str] | None] = FLOATS

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {"count": types["Y"].elements}


def same_types(types: Mapping[str, TensorType]) -> None:
    """Refuse operands of different element types."""
    found = {kind.dtype for kind in types.values()}
    if len(found) > 1:
        raise Refusal(f"operands have different element types: {', '.join(sorted(found))}", "insert a Cast")


def broadcast_params(result: Shape, operands: Mapping[str, Shape]) -> Params:
    """Sizes of the loop nest and each operand's stride per loop (0 where it is broadcast), adjacent loops merged."""
    strides = {name: _strides(shape, result) for name, shape in operands.items()}
    sizes, merged = _merge(result, strides)
    if len(sizes) > MAX_RANK:
        raise Refusal(f"broadcasting over {len(sizes)} axes; at most {MAX_RANK} are supported")
    fields: Params = {"rank": len(sizes), "size": sizes}
    return fields | {f"stride_{name.lower()}": values for name, values in merged.items()}


def _strides(shape: Shape, result: Shape) -> list[int]:
    strides, step = [], 1
    padded = (1,) * (len(result) - len(shape)) + shape
    for size in reversed(padded):
        strides.append(0 if size == 1 else step)
        step *= size
    return strides[::-1]


def _merge(result: Shape, strides: Mapping[str, list[int]]) -> tuple[tuple[int, ...], dict[str, tuple[int, ...]]]:
    """Drop loops of one and join loops that every operand walks as one."""
    sizes: list[int] = []
    kept: dict[str, list[int]] = {name: [] for name in strides}
    for axis, size in enumerate(result):
        if size == 1:
            continue
        if sizes and all(kept[name][-1] == strides[name][axis] * size for name in strides):
            sizes[-1] *= size
            for name in strides:
                kept[name][-1] = strides[name][axis]
            continue
        sizes.append(size)
        for name in strides:
            kept[name].append(strides[name][axis])
    if not sizes:
        return (1,), {name: (0,) for name in strides}
    return tuple(sizes), {name: tuple(values) for name, values in kept.items()}
