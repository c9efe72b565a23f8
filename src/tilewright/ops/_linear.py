"""What sums of products share: operand types, zero points, the way from the wide total to the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.requant import Requant
from tilewright.ir.types import STORED, Array, TensorType, as_computed, dtype_name, is_integer
from tilewright.ops.cast import Cast

NARROW = frozenset({"int8", "uint8"})
WRAPPING = frozenset({"uint32", "int64", "uint64"})
"""Integers that ONNX multiplies in their own type; all narrower ones give int32."""


class Requantised(Protocol):
    @property
    def requant(self) -> Requant | None: ...


def check_factors(left: str, right: str, types: Mapping[str, TensorType]) -> None:
    """Both factors are float, or both are integers that have a common result type."""
    first, second = types[left].dtype, types[right].dtype
    if "bool" in (first, second):
        raise Refusal(f"{left} is {first} and {right} is {second}; numbers are expected", "insert a Cast")
    if is_integer(first) != is_integer(second):
        raise Refusal(f"{left} is {first} and {right} is {second}", "quantise both or neither")
    if first != second and {first, second} & WRAPPING:
        raise Refusal(f"{left} is {first} and {right} is {second}", "insert a Cast so that they are the same")


def check_requant(op: Requantised, left: str, types: Mapping[str, TensorType]) -> None:
    """mul and add come with a requantisation, which needs an int32 total."""
    if (op.requant is None) == ("mul" in types) or (op.requant is None and "add" in types):
        raise Refusal("mul and add belong to a requantisation, which needs mul")
    if op.requant is not None and total_dtype(types[left].dtype) != "int32":
        raise Refusal(f"{left} is {types[left].dtype}; only int32 accumulators can be requantised")
    for name in {"mul", "add"} & set(types):
        if types[name].dtype != "int32":
            raise Refusal(f"{name} is {types[name].dtype}, it should be int32")


def check_bias(name: str, left: str, types: Mapping[str, TensorType]) -> None:
    wanted = total_dtype(types[left].dtype)
    if name in types and types[name].dtype != wanted:
        raise Refusal(f"{name} is {types[name].dtype}, it should be {wanted}", "insert a Cast")


def total_dtype(dtype: str) -> str:
    """The type in which products of a type are summed."""
    return dtype if dtype == "float32" or dtype in WRAPPING else "int32"


def result_dtype(op: Requantised, dtype: str) -> str:
    return total_dtype(dtype) if op.requant is None else op.requant.dtype


def centred(values: Array, zero: int) -> Array:
    """Integers in the type of their sums, without their zero point."""
    name = dtype_name(values.dtype)
    if name == "float32" or name in STORED:
        return as_computed(values)
    wide = values.astype(total_dtype(name))
    return wide - wide.dtype.type(zero) if zero else wide


def requantised(op: Requantised, total: Array, mul: Array | None, add: Array | None) -> Array:
    """The last step; `mul` and `add` broadcast with the total."""
    return total if op.requant is None or mul is None else op.requant(total, mul, add)


def bias_operand(node: OnnxNode, position: int, emit: Emit) -> str:
    """The bias in the type of the totals: constants of integer networks are stored as narrow as they come."""
    if not node.has(position):
        return ""
    wanted = total_dtype(node.type(0).dtype)
    if node.type(position).dtype == wanted or not is_integer(node.type(position).dtype):
        return node.inputs[position]
    value = node.constants[position]
    if value is not None:
        return emit.constant(value.astype(wanted), node.inputs[position])
    return emit(Cast(wanted), [node.inputs[position]])[0]
