"""Operators that ONNX itself defines by simpler ones: their definition is put in the place of the node."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from tilewright.ir.types import TensorType


def definition(
    node: onnx.NodeProto, opset: int, types: Sequence[TensorType | None]
) -> tuple[list[onnx.NodeProto], int] | None:
    """The nodes that a node stands for and the opset they are written in, or None where ONNX has no definition."""
    function = _function(node, opset, types)
    if function is None:
        return None
    version = next((entry.version for entry in function.opset_import if entry.domain == ""), opset)
    return _instantiate(node, function), version


def _function(node: onnx.NodeProto, opset: int, types: Sequence[TensorType | None]) -> onnx.FunctionProto | None:
    try:
        schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=opset, domain=node.domain)
    except onnx.defs.SchemaError:  # an unknown operator
        return None
    data = _serialised(schema, node, opset, types)
    if not data:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(data)
    _add_defaults(function, schema)
    return function


def _serialised(
    schema: onnx.defs.OpSchema, node: onnx.NodeProto, opset: int, types: Sequence[TensorType | None]
) -> bytes:
    if schema.has_function:
        return bytes(schema.get_function_with_opset_version(_nearest(schema.function_opset_versions, opset)))
    if schema.has_context_dependent_function:
        version = _nearest(schema.context_dependent_function_opset_versions, opset)
        kinds = [_type_proto(kind) for kind in types]
        return _built(schema, version, node.SerializeToString(), kinds)
    return b""


def _built(schema: onnx.defs.OpSchema, version: int, node: bytes, kinds: Sequence[bytes]) -> bytes:
    try:
        return bytes(schema.get_context_dependent_function_with_opset_version(version, node, kinds))
    except (RuntimeError, ValueError, IndexError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return b""  # types or attributes that the definition does not cover


def _nearest(versions: Sequence[int], opset: int) -> int:
    """The newest definition that the model's opset allows, or the oldest there is."""
    return max((version for version in versions if version <= opset), default=min(versions))


def _type_proto(kind: TensorType | None) -> bytes:
    if kind is None:
        return onnx.TypeProto().SerializeToString()
    code = helper.np_dtype_to_tensor_dtype(kind.element)
    return bytes(helper.make_tensor_type_proto(code, kind.shape).SerializeToString())


def _add_defaults(function: onnx.FunctionProto, schema: onnx.defs.OpSchema) -> None:
    """Attributes that the node may leave out have the schema's default inside the definition."""
    present = {item.name for item in function.attribute_proto}
    for name, attribute in schema.attributes.items():
        if name not in present and attribute.default_value.name:
            function.attribute_proto.append(attribute.default_value)


def _instantiate(node: onnx.NodeProto, function: onnx.FunctionProto) -> list[onnx.NodeProto]:
    """The definition's nodes with this node's tensors and attributes."""
    tensors = dict(zip(function.input, node.input, strict=False))
    tensors |= dict.fromkeys(function.input[len(node.input) :], "")
    tensors |= dict(zip(function.output, node.output, strict=False))
    given = {item.name: item for item in (*function.attribute_proto, *node.attribute)}
    prefix = node.name or (node.output[0] if node.output else node.op_type)
    return [
        _copy(inner, tensors, given, prefix) for inner in _needed(function, {name for name in tensors if tensors[name]})
    ]


def _needed(function: onnx.FunctionProto, wanted: set[str]) -> list[onnx.NodeProto]:
    """The definition's nodes that the asked-for outputs depend on."""
    needed = {name for name in function.output if name in wanted}
    kept = []
    for inner in reversed(function.node):
        if any(name in needed for name in inner.output):
            kept.append(inner)
            needed.update(inner.input)
    return kept[::-1]


def _copy(
    inner: onnx.NodeProto, tensors: dict[str, str], given: dict[str, onnx.AttributeProto], prefix: str
) -> onnx.NodeProto:
    copied = onnx.NodeProto()
    copied.op_type, copied.domain, copied.name = inner.op_type, inner.domain, f"{prefix}/{inner.op_type}"
    copied.input.extend(_outer(name, tensors, prefix) for name in inner.input)
    copied.output.extend(_outer(name, tensors, prefix) for name in inner.output)
    for item in inner.attribute:
        if not item.ref_attr_name:
            copied.attribute.append(item)
        elif item.ref_attr_name in given:
            bound = onnx.AttributeProto()
            bound.CopyFrom(given[item.ref_attr_name])
            bound.name = item.name
            copied.attribute.append(bound)
    return copied


def _outer(name: str, tensors: dict[str, str], prefix: str) -> str:
    return tensors.get(name, f"{prefix}/{name}") if name else ""
