"""Constant operands in the order in which a device reads them: packed when a network is compiled.

The layer that a unit takes then is another operator, with the same loops, results and meaning, and one operand that is
a row of bytes in that order. Loops along which it is packed are not cut.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, Span, whole
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.target.params import params_of


@dataclass(frozen=True)
class LoopPart:
    """A loop in an order: all of it, its blocks, or what is inside of one."""

    loop: str
    block: int = 1
    inside: bool = False


def parts_of(order: str) -> tuple[LoopPart, ...]:
    """`f/16 c r s f:16`. Raises `Refusal` for what is no order."""
    return tuple(map(_part, order.split()))


def _part(word: str) -> LoopPart:
    for sign, inside in (("/", False), (":", True)):
        loop, found, block = word.partition(sign)
        if found and not (block.isdigit() and int(block) > 1):
            raise Refusal(f"'{word}' has no block of at least 2", f"for example '{loop}{sign}16'")
        if found:
            return LoopPart(loop, int(block), inside)
    return LoopPart(word)


def check_order(order: str, loops: Sequence[str]) -> None:
    """Every loop of the operand once, as a whole or as blocks and their insides."""
    parts = parts_of(order)
    for loop in dict.fromkeys([*loops, *(part.loop for part in parts)]):
        own = [part for part in parts if part.loop == loop]
        if loop not in loops:
            raise Refusal(f"the operand has no loop '{loop}'", f"it has {', '.join(loops)}")
        found = sorted((part.block, part.inside) for part in own)
        block = found[0][0] if found else 1
        if found != [(1, False)] and (block == 1 or found != [(block, False), (block, True)]):
            raise Refusal(f"loop '{loop}' must be there once", f"'{loop}', or '{loop}/16' and '{loop}:16'")


@dataclass(frozen=True)
class Packed(Op):
    """`inner` with `operand` packed; of each operator there is a subclass with its operands."""

    inner: Op = field(default_factory=Op)
    operand: str = ""
    order: str = ""
    shape: Shape = ()
    """Of the operand as `inner` has it."""
    loops: tuple[str, ...] = ()
    """Of its axes."""

    # ---- geometry ---------------------------------------------------------------------------------------------------

    def plain(self, shapes: Shapes) -> Shapes:
        return {**shapes, self.operand: self.shape}

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        return {**types, self.operand: TensorType(types[self.operand].dtype, self.shape)}

    def index(self, shapes: Shapes) -> Index:
        return {**self.inner.index(self.plain(shapes)), self.operand: (whole(shapes[self.operand][0]),)}

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return self.inner.padding_of(self.plain(shapes))

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return self.inner.unsplittable(self.plain(shapes)) | frozenset(self.loops)

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return self.inner.extents(self.plain(shapes))

    def reductions(self, shapes: Shapes) -> frozenset[str]:
        return self.inner.reductions(self.plain(shapes))

    def macs(self, shapes: Shapes) -> int:
        return self.inner.macs(self.plain(shapes))

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(self, inner=self.inner.at(self.plain(shapes), box))

    # ---- meaning ----------------------------------------------------------------------------------------------------

    def check(self, types: Mapping[str, TensorType]) -> None:
        self.inner.check(self.plain_types(types))

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return self.inner.result_shapes(self.plain(shapes))

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.inner.result_dtypes(dtypes)

    def numpy(self, *arrays: Any, **named: Any) -> Any:
        at = self.operand_names(len(arrays)).index(self.operand)
        return self.inner.numpy(*arrays[:at], self._unpacked(arrays[at]), *arrays[at + 1 :])

    def _unpacked(self, row: Array) -> Array:
        return unpacked(row, self.shape, self.loops, self.order)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return params_of(self.inner, self.plain_types(types))


def packed_kind(kind: type[Op]) -> type[Packed]:
    """The subclass for an operator: always the same."""
    with _LOCK:
        if kind not in _KINDS:
            _KINDS[kind] = _new_kind(kind)
        return _KINDS[kind]


_KINDS: dict[type[Op], type[Packed]] = {}
_LOCK = threading.Lock()
"""Two threads that made a subclass each would have operators that are never equal."""


def _new_kind(kind: type[Op]) -> type[Packed]:
    names: dict[str, Any] = {"operands": kind.operands, "results": kind.results, "multiplies": kind.multiplies}
    names["__annotations__"] = dict.fromkeys(names, ClassVar)
    made = type(f"Arranged{kind.__name__}", (Packed,), names)
    return dataclass(frozen=True)(made)


def meaning(op: Op) -> Op:
    """What a packed operator stands for; any other itself."""
    return op.inner if isinstance(op, Packed) else op


def with_packed(op: Op, shapes: Shapes, operand: str, array: Array, order: str) -> tuple[Op, Array]:
    loops = operand_loops(op, shapes, operand)
    check_order(order, loops)
    made = packed_kind(type(op))(op, operand, order, array.shape, loops)
    return made, packed(array, loops, order)


def operand_loops(op: Op, shapes: Shapes, operand: str) -> tuple[str, ...]:
    """Of each axis the loop that walks along it."""
    axes = op.index(shapes)[operand]
    if not all(axis.terms and axis.terms[-1][1] == 1 for axis in axes):
        raise Refusal(f"{operand} cannot be packed: an axis of it belongs to no loop")
    return tuple(axis.terms[-1][0] for axis in axes)


# ---- orders ---------------------------------------------------------------------------------------------------------


def packed(array: Array, loops: Sequence[str], order: str) -> Array:
    """The elements in that order, with zeros where blocks are not full."""
    parts = parts_of(order)
    split, places = _split(array.shape, loops, parts)
    fill = [(0, math.prod(sizes) - size) for sizes, size in zip(split, array.shape, strict=True)]
    blocks = np.pad(array, fill).reshape([size for sizes in split for size in sizes])
    return np.ascontiguousarray(blocks.transpose(places)).reshape(-1)


def unpacked(row: Array, shape: Shape, loops: Sequence[str], order: str) -> Array:
    parts = parts_of(order)
    split, places = _split(shape, loops, parts)
    sizes = [size for sizes in split for size in sizes]
    blocks = row.reshape([sizes[place] for place in places]).transpose(np.argsort(places))
    filled = blocks.reshape([math.prod(sizes) for sizes in split])
    return np.ascontiguousarray(filled[tuple(slice(size) for size in shape)])


def _split(shape: Shape, loops: Sequence[str], parts: Sequence[LoopPart]) -> tuple[list[tuple[int, int]], list[int]]:
    """Each axis as blocks and insides, and the place of every part among all of these."""
    blocks = {part.loop: part.block for part in parts}
    split = [(-(-size // blocks[loop]), blocks[loop]) for loop, size in zip(loops, shape, strict=True)]
    places = []
    for part in parts:
        places += [2 * loops.index(part.loop) + part.inside] if part.block > 1 else [2 * loops.index(part.loop)]
    ones = [2 * axis + 1 for axis, loop in enumerate(loops) if blocks[loop] == 1]
    return split, [*places, *ones]
