"""Constant operands in the order in which a device reads them: packed when a network is compiled.

The layer that a unit takes then is another operator, with the same loops, results and meaning, and one operand that is
a row of bytes in that order. Loops along which it is packed are not cut.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import whole
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._packing import Packing, check_order
from tilewright.ops._rearranged import Rearranged
from tilewright.records import dataclass
from tilewright.target.params import params_of


@dataclass(frozen=True)
class Packed(Rearranged):
    """`inner` with `operand` packed; of each operator there is a subclass with its operands."""

    inner: Op = field(default_factory=Op)
    operand: str = ""
    packing: Packing = field(default_factory=Packing)
    shape: Shape = ()
    """Of the operand as `inner` has it."""

    @property
    def plain(self) -> Op:
        return self.inner

    def of(self, plain: Op) -> Op:
        return replace(self, inner=plain)

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        return {**shapes, self.operand: self.shape}

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        return {**types, self.operand: TensorType(types[self.operand].dtype, self.shape)}

    def index(self, shapes: Shapes) -> Index:
        return {**self.inner.index(self.plain_shapes(shapes)), self.operand: (whole(shapes[self.operand][0]),)}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return self.inner.unsplittable(self.plain_shapes(shapes)) | frozenset(self.packing.axes.split())

    def reductions(self, shapes: Shapes) -> frozenset[str]:
        return self.inner.reductions(self.plain_shapes(shapes))

    def numpy(self, *arrays: Any, **named: Any) -> Any:
        at = self.operand_names(len(arrays)).index(self.operand)
        return self.inner.numpy(*arrays[:at], self.packing.unpack(arrays[at], self.shape), *arrays[at + 1 :])

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
    packing = Packing(" ".join(loops), order)
    return packed_kind(type(op))(op, operand, packing, array.shape), packing.pack(array).reshape(-1)


def operand_loops(op: Op, shapes: Shapes, operand: str) -> tuple[str, ...]:
    """Of each axis the loop that walks along it."""
    axes = op.index(shapes)[operand]
    if not all(axis.terms and axis.terms[-1][1] == 1 for axis in axes):
        raise Refusal(f"{operand} cannot be packed: an axis of it belongs to no loop")
    return tuple(axis.terms[-1][0] for axis in axes)
