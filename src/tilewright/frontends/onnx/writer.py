"""A graph as ONNX again, to look at in Netron: with all types and constants, not meant to be run elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from onnx import defs, helper, numpy_helper

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.whole_file import write_whole

DOMAIN = "tilewright"
"""Operators that ONNX does not define, or not with these attributes."""

ONNX_NAMES = {"padding": "pads", "groups": "group"}
"""Where our attribute has another name than ONNX's."""


def to_onnx(graph: Graph, remarks: Mapping[str, str] | None = None) -> onnx.ModelProto:
    """The graph; `remarks` are shown with the nodes, by their keys. States are inputs and outputs, as ONNX has none."""
    nodes = [_node(node, (remarks or {}).get(node.key, "")) for node in graph.nodes]
    inner = [name for node in graph.nodes for name in node.outputs if name and name not in graph.sinks]
    proto = helper.make_graph(
        nodes, graph.name or "network", [_value(graph, name) for name in graph.sources],
        [_value(graph, name) for name in dict.fromkeys(graph.sinks)],
        [numpy_helper.from_array(array, name) for name, array in graph.constants.items()],
        value_info=[_value(graph, name) for name in inner],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", defs.onnx_opset_version()), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(proto, producer_name="tilewright", opset_imports=opsets)


def save(graph: Graph, path: Path, remarks: Mapping[str, str] | None = None) -> None:
    write_whole(path, to_onnx(graph, remarks).SerializeToString(), "--onnx")


def _node(node: Node, remark: str) -> onnx.NodeProto:
    attributes = _attributes(node.op)
    domain = "" if _is_standard(node, attributes) else DOMAIN
    made = helper.make_node(node.op.kind, node.inputs, node.outputs, node.name, remark, domain)
    made.attribute.extend(helper.make_attribute(name, value) for name, value in sorted(attributes.items()))
    return made


def _is_standard(node: Node, attributes: dict[str, Any]) -> bool:
    """Whether ONNX has such a node: a product that has taken in its bias, for example, has an operand too many."""
    if not defs.has(node.op.kind):
        return False
    schema = defs.get_schema(node.op.kind)
    return len(node.inputs) <= schema.max_input and set(attributes) <= set(schema.attributes)


def _attributes(op: Op) -> dict[str, Any]:
    """The attributes that differ from their defaults, as values that ONNX can hold."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(op):
        value = getattr(op, field.name)
        if value != field.default:
            found[ONNX_NAMES.get(field.name, field.name)] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, tuple) and value and all(isinstance(item, int | float) for item in value):
        return list(value)
    return str(value)


def _value(graph: Graph, name: str) -> onnx.ValueInfoProto:
    kind = graph.types[name]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(kind.element), kind.shape)
