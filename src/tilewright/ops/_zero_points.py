"""Zero points of integer operands: an attribute where they are one constant, otherwise subtracted beforehand."""

from __future__ import annotations

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array, Shape, narrowest
from tilewright.ops.sub import Sub


def without_zero(node: OnnxNode, position: int, zero_position: int, axis: int | None, emit: Emit) -> tuple[str, int]:
    """An operand and the zero point that remains to be subtracted from it; `axis` is where it may have several."""
    name, value = node.inputs[position], node.constants[position]
    if not node.has(zero_position):
        return name, 0
    zero = node.constants[zero_position]
    shape = _shape_along(node.type(zero_position).shape, node.type(position).shape, axis)
    if zero is None and len(shape) > 1:
        raise Refusal(f"zero points of input {position} are computed at run time", "one value, or constants")
    if zero is None:
        return emit(Sub(wide=True), [name, node.inputs[zero_position]])[0], 0
    if len(np.unique(zero)) <= 1:
        return name, int(zero.reshape(-1)[0]) if zero.size else 0
    if value is not None:
        return emit.constant(_narrow(value.astype(np.int32) - zero.astype(np.int32).reshape(shape)), name), 0
    return emit(Sub(wide=True), [name, emit.constant(zero.reshape(shape), node.inputs[zero_position])])[0], 0


def _shape_along(zero: Shape, operand: Shape, axis: int | None) -> Shape:
    """The shape in which zero points broadcast with their operand."""
    if int(np.prod(zero)) == 1:
        return (1,) if zero else ()
    if len(zero) != 1:
        return zero
    if axis is None or zero[0] != operand[axis]:
        raise Refusal(f"{zero[0]} zero points for an operand of shape {operand}")
    return (zero[0], *(1,) * (len(operand) - 1 - axis % len(operand)))


def _narrow(values: Array) -> Array:
    low, high = (values.min(), values.max()) if values.size else (0, 0)
    return values.astype(narrowest(low, high, ("int8", "int16")) or "int32")
