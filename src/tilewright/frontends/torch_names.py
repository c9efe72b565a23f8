"""Names of PyTorch's modules for the nodes that its ONNX exporter numbers."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto

from tilewright.frontends.python_errors import described

SCOPES = "pkg.torch.onnx.name_scopes"


def renamed(proto: ModelProto, outputs: Sequence[str]) -> ModelProto:
    """The model with each node called after the module that it is part of, and its results after itself."""
    graph = proto.graph
    scopes = [_scope(node) for node in graph.node]
    alone = Counter(scopes)
    taken = {value.name for value in (*graph.input, *graph.initializer)}
    names = _output_names(graph, outputs, taken)
    taken |= set(names.values())
    for node, scope in zip(graph.node, scopes, strict=True):
        node.name = _free(scope if scope and alone[scope] == 1 else _inside(scope, node), taken)
        for position, result in enumerate(node.output):
            if result and result not in names:
                names[result] = node.name if position == 0 else _free(f"{node.name}_{position}", taken)
    _apply(graph, names)
    return proto


def _scope(node: NodeProto) -> str:
    """The path of the module that made a node: 'encoder.layer.3.attention'; empty for the outermost."""
    found = next((entry.value for entry in node.metadata_props if entry.key == SCOPES), "")
    try:
        scopes = ast.literal_eval(found) if found else []
    except (SyntaxError, ValueError):
        return ""
    return scopes[-2] if len(scopes) > 1 else ""


def _inside(scope: str, node: NodeProto) -> str:
    """A node among others of its module."""
    return f"{scope}/{node.op_type}" if scope else node.name.removeprefix("node_") or node.op_type


def _free(wanted: str, taken: set[str]) -> str:
    """The name itself, or the first number behind it that makes it unique."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name


def _output_names(graph: GraphProto, wanted: Sequence[str], taken: set[str]) -> dict[str, str]:
    """What the graph's results are called from now on; those that are inputs or stand there twice keep their names."""
    found = [value.name for value in graph.output]
    if len(found) != len(wanted) or len(set(found)) != len(found):
        return {}
    return {
        old: new
        for old, new in zip(found, wanted, strict=True)
        if old not in taken and new not in taken and wanted.count(new) == 1
    }


def _apply(graph: GraphProto, names: Mapping[str, str]) -> None:
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for item in node.attribute:
            if item.HasField("g"):
                _apply(item.g, names)
    for value in (*graph.output, *graph.value_info):
        value.name = names.get(value.name, value.name)


def blamed(exported: Any, text: str) -> str:
    """The module and the line of the node that an error names as '%node', if it does."""
    found = re.search(r"%(\w+)", text)
    node = next((node for node in exported.graph.nodes if found and node.name.startswith(found[1])), None)
    if node is None:
        return ""
    frames = re.findall(r'File "([^"]+)", line (\d+), in .*\n\s*(.*)', node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if "site-packages" not in frame[0]]
    scope = next(reversed([path for path, _ in node.meta.get("nn_module_stack", {}).values()] or [""]))
    line = described(own[-1][0], int(own[-1][1]), own[-1][2]) if own else ""
    return ", ".join(filter(None, (scope.removeprefix("L['self']."), line, f"{node.target}")))
