"""Arithmetic, bounds and changes of type."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from tilewright.errors import Refusal
from tilewright.export.registry import attributes_of, rule
from tilewright.export.writer import NodeWriter, Step
from tilewright.ir.op import Op
from tilewright.ir.types import element
from tilewright.ops._arithmetic import Arithmetic
from tilewright.ops.bitcast import BitCast
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.dequant import Dequant
from tilewright.ops.div import Div
from tilewright.ops.identity import Identity
from tilewright.ops.mod import Mod
from tilewright.ops.mul import Mul
from tilewright.ops.sub import Sub


def type_code(dtype: str) -> int:
    """ONNX's number of an element type."""
    return int(helper.np_dtype_to_tensor_dtype(element(dtype)))


def cast_to(dtype: str) -> Step:
    return Step("Cast", (), {"to": type_code(dtype)})


@rule(Sub, Mul, Div)
def arithmetic(to: NodeWriter, op: Arithmetic) -> None:
    """`wide` operands are taken in int32."""
    to.end(op.kind, [in_int32(to, name) if op.wide else to.operand(name) for name in "AB"])


def in_int32(to: NodeWriter, operand: str) -> str:
    if to.type(operand).dtype == "int32":
        return to.operand(operand)
    return to.add("Cast", [to.operand(operand)], to=type_code("int32"))


@rule(Mod)
def mod(to: NodeWriter, op: Mod) -> None:
    """For floats ONNX has only the rest with the dividend's sign: where that is not the divisor's, one divisor more."""
    if op.fmod or to.type("A").dtype != "float32":
        to.end("Mod", to.inputs, fmod=op.fmod)
        return
    a, b = to.inputs
    zero = to.constant(np.zeros((), np.float32), "zero")
    rest = to.add("Mod", [a, b], fmod=1)
    signs = to.add("Xor", [to.add("Less", [rest, zero]), to.add("Less", [b, zero])])
    some = to.add("Not", [to.add("Equal", [rest, zero])])
    to.end("Where", [to.add("And", [signs, some]), to.add("Add", [rest, b]), rest])


@rule(Clip)
def clip(to: NodeWriter, op: Clip) -> None:
    to.end("Clip", [*to.inputs, *bounds(to, op, to.type("X").dtype)])


def bounds(to: NodeWriter, op: Clip, dtype: str) -> tuple[str, str]:
    """Both as constants of the element type; none where there is none."""
    low, high = op.bounds(dtype)
    lowest = "" if op.low is None else to.constant(np.asarray(low, dtype), "min")
    return lowest, "" if op.high is None else to.constant(np.asarray(high, dtype), "max")


def activation(to: NodeWriter, op: Op | None) -> list[Step]:
    """What float results go through before they are stored, as nodes of their own."""
    if op is None:
        return []
    if isinstance(op, Clip):
        return [Step("Clip", bounds(to, op, "float32"))]
    return [Step(op.kind, (), attributes_of(op))]


@rule(Cast, BitCast)
def cast(to: NodeWriter, op: Any) -> None:
    to.end(op.kind, to.inputs, to=type_code(op.to))


@rule(Identity)
def identity(to: NodeWriter, op: Identity) -> None:
    to.end("Identity", to.inputs)


@rule(Dequant)
def dequant(to: NodeWriter, op: Dequant) -> None:
    dtype = to.type("X").dtype
    if dtype not in ("int8", "uint8", "int16", "uint16", "int32"):
        raise Refusal(f"dequantises {dtype}", "ONNX dequantises integers of at most 32 bits")
    scale = to.constant(np.asarray(op.scale, np.float32), "scale")
    zero = to.constant(_zero_point(op.zero_point, dtype), "zero_point")
    to.end("DequantizeLinear", [*to.inputs, scale, zero])


def _zero_point(value: int, dtype: str) -> np.ndarray[Any, Any]:
    info = np.iinfo(dtype)
    if not info.min <= value <= info.max or (dtype == "int32" and value):
        raise Refusal(f"a zero point of {value} for {dtype}", "in ONNX it has the type of the values")
    return np.asarray(value, dtype)
