"""Operators that ONNX itself defines by simpler ones: their definition is put in the place of the node."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from tilewright.frontends.onnx import file as onnx_file
from tilewright.frontends.onnx.bodies import rename_outer
from tilewright.frontends.onnx.renaming import free
from tilewright.ir.types import TensorType


def definition(
    node: onnx.NodeProto, opset: int, types: Sequence[TensorType | None], standard: int = 0
) -> tuple[list[onnx.NodeProto], int] | None:
    """The nodes that a node stands for and the opset they are written in, or None where ONNX has no definition.

    `opset` is that of the node's domain, `standard` that of ONNX's own where it is another one."""
    function = _function(node, opset, types)
    if function is None:
        return None
    version = next((entry.version for entry in function.opset_import if entry.domain == ""), standard or opset)
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
    prefix = onnx_file.name_of(node)
    own = {name for inner in function.node for name in inner.output if name}
    tensors = {name: f"{prefix}/{name}" for name in own} | tensors
    given = {item.name: item for item in (*function.attribute_proto, *node.attribute)}
    asked = {name for name, outer in zip(function.output, node.output, strict=False) if outer}
    taken: set[str] = set()
    return [
        _copy(inner, tensors, given, free(f"{prefix}/{inner.op_type}", taken)) for inner in _needed(function, asked)
    ]


def _needed(function: onnx.FunctionProto, asked: set[str]) -> list[onnx.NodeProto]:
    """The definition's nodes that the asked-for outputs depend on."""
    needed, kept = set(asked), []
    for inner in reversed(function.node):
        if any(name in needed for name in inner.output):
            kept.append(inner)
            needed.update(onnx_file.reads(inner))
    return kept[::-1]


def _copy(
    inner: onnx.NodeProto, tensors: dict[str, str], given: dict[str, onnx.AttributeProto], name: str
) -> onnx.NodeProto:
    copied = onnx.NodeProto()
    copied.CopyFrom(inner)
    copied.name = name
    copied.input[:] = [tensors.get(tensor, tensor) for tensor in inner.input]
    copied.output[:] = [tensors.get(tensor, tensor) for tensor in inner.output]
    _bind_attributes(copied, given)
    for graph in onnx_file.subgraphs(copied):
        rename_outer(graph, tensors)
    return copied


def _bind_attributes(node: onnx.NodeProto, given: dict[str, onnx.AttributeProto]) -> None:
    """Attributes that stand for one of the outer node get its value, or go where it has none; in subgraphs too."""
    found = list(node.attribute)
    del node.attribute[:]
    for item in found:
        if not item.ref_attr_name:
            node.attribute.append(item)
        elif item.ref_attr_name in given:
            node.attribute.append(given[item.ref_attr_name])
            node.attribute[-1].name = item.name
    for graph in onnx_file.subgraphs(node):
        for inner in graph.node:
            _bind_attributes(inner, given)
