"""Bits of elements: taken as another type, shifted, and compared in the order that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from tilewright.frontends.jaxpr.emitter import Emitter, Value
from tilewright.frontends.jaxpr.rules import Equation, refuse, rule


def taken_as(em: Emitter, x: Value, to: Any) -> Value:
    """The same bits under another type of the same size."""
    kind = np.dtype(to)
    if kind == x.dtype:
        return x
    return em.op("BitCast", x, shape=x.shape, dtype=kind, to=helper.np_dtype_to_tensor_dtype(kind))


@rule("bitcast_convert_type")
def take_bits_as(em: Emitter, equation: Equation, x: Value) -> Value:
    to = np.dtype(equation.params["new_dtype"])
    if to.itemsize != x.dtype.itemsize:
        raise refuse(f"takes the bits of {x.dtype.name} as {to.name}", "use a type of the same size")
    return taken_as(em, x, to)


@rule("shift_left", "shift_right_logical", "shift_right_arithmetic")
def shift(em: Emitter, equation: Equation, x: Value, by: Value) -> Value:
    """ONNX shifts unsigned integers; the bits of a negative one are turned before and after, so that ones come in."""
    kind = equation.primitive.name
    if x.dtype.kind == "u" or kind != "shift_right_arithmetic":
        return _shifted(em, x, by, "LEFT" if kind == "shift_left" else "RIGHT")
    negative = em.elementwise("Less", x, np.asarray(0, x.dtype), dtype=np.bool_)
    positive = em.elementwise("Where", negative, em.elementwise("BitwiseNot", x), x, dtype=x.dtype)
    found = _shifted(em, positive, by, "RIGHT")
    return em.elementwise("Where", negative, em.elementwise("BitwiseNot", found), found, dtype=x.dtype)


def _shifted(em: Emitter, x: Value, by: Value, direction: str) -> Value:
    unsigned = np.dtype(f"uint{8 * x.dtype.itemsize}")
    found = em.elementwise("BitShift", taken_as(em, x, unsigned), em.cast(by, unsigned), direction=direction)
    return taken_as(em, found, x.dtype)


@rule("le_to", "lt_to")
def compare_in_total_order(em: Emitter, equation: Equation, x: Value, y: Value) -> Value:
    """-0 is below 0 and NaN above all: the order of the bits as integers, those of negative numbers turned."""
    if x.dtype.kind == "f":
        x, y = _in_order(em, x), _in_order(em, y)
    kind = "Less" if equation.primitive.name == "lt_to" else "LessOrEqual"
    return em.elementwise(kind, x, y, dtype=np.bool_)


def _in_order(em: Emitter, x: Value) -> Value:
    signed = np.dtype(f"int{8 * x.dtype.itemsize}")
    bits = taken_as(em, x, signed)
    negative = em.elementwise("Less", bits, np.asarray(0, signed), dtype=np.bool_)
    turned = em.elementwise("BitwiseXor", bits, np.asarray(np.iinfo(signed).max, signed))
    return em.elementwise("Where", negative, turned, bits, dtype=signed)
