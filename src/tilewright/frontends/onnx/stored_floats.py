"""Elements of other widths: floats become float32 where they enter, and back where they leave; 4 bits become bytes."""

from __future__ import annotations

import onnx

from tilewright.ir.graph import Builder
from tilewright.ir.types import STORED, Array, TensorType, as_computed
from tilewright.ops.cast import Cast

WHOLE_BYTES = {"int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8"}
"""What integers of 2 and 4 bits become."""


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
    """A constant as floats that are computed with; a target may store them short again."""
    if array.dtype.name not in STORED:
        return builder.constant(array, name)
    _note(builder, array.dtype.name)
    return builder.constant(as_computed(array), name)


def _note(builder: Builder, dtype: str) -> None:
    less = "to about 7 digits" if dtype == "float64" else "and not rounded on the way"
    builder.notes.append(f"{dtype} tensors are computed as float32, {less}")


def with_whole_bytes(node: onnx.NodeProto, constants: dict[str, Array], builder: Builder) -> onnx.NodeProto:
    """Quantised constants of less than a byte, a byte each: what is dequantised has the same values."""
    if node.op_type != "DequantizeLinear":
        return node
    changed = onnx.NodeProto()
    changed.CopyFrom(node)
    for position, name in enumerate(node.input):
        if name in constants and constants[name].dtype.name in WHOLE_BYTES:
            changed.input[position] = builder.fresh(f"{name}_bytes")
            constants[changed.input[position]] = constants[name].astype(WHOLE_BYTES[constants[name].dtype.name])
    return changed
