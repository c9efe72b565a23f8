"""Floats of other widths than 32 bits: inputs, outputs and constants keep them, everything between is float32."""

from __future__ import annotations

from tilewright.ir.graph import Builder
from tilewright.ir.types import STORED, Array, TensorType, as_computed
from tilewright.ops.cast import Cast

FEWEST_BYTES = 1024
"""Shorter constants are stored as float32: a cast would cost more than it saves."""


def declare_input(builder: Builder, name: str, kind: TensorType) -> str:
    """An input of its declared type; gives the tensor that its readers take."""
    builder.input(name, kind)
    if kind.dtype not in STORED:
        return name
    _note(builder, kind.dtype)
    return builder.add(Cast(), [name], [builder.fresh(f"{name}_as_float32")], name=name)[0]


def declare_output(builder: Builder, tensor: str, name: str, declared: str) -> None:
    """The next output, in the type that the file declares where that is a float of another width."""
    if declared in STORED and builder.types[tensor].dtype == "float32":
        _note(builder, declared)
        (tensor,) = builder.add(Cast(declared), [tensor], [builder.fresh(f"{name}_as_{declared}")], name=name)
    builder.output(tensor, name)


def add_constant(builder: Builder, array: Array, name: str) -> str:
    """A constant as floats that are computed with; long ones stay short in memory until they are read."""
    if array.dtype.name not in STORED:
        return builder.constant(array, name)
    _note(builder, array.dtype.name)
    return builder.constant(as_computed(array), name)


def _note(builder: Builder, dtype: str) -> None:
    less = "to about 7 digits" if dtype == "float64" else "and not rounded on the way"
    builder.notes.append(f"{dtype} tensors are computed as float32, {less}")


def whole_bytes(array: Array) -> Array | None:
    """Integers of 2 or 4 bits as bytes; None for all others."""
    wide = {"int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8"}.get(array.dtype.name)
    return None if wide is None else array.astype(wide)
