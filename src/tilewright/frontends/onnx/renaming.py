"""Names that a user knows for the nodes that an exporter numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from onnx import GraphProto, ModelProto, NodeProto


def renamed(proto: ModelProto, scopes: Sequence[str], outputs: Sequence[str]) -> ModelProto:
    """The model with each node called after its scope (the part of the user's model that it comes from).

    Results are called after their nodes, those of the graph as `outputs` says.
    """
    graph = proto.graph
    alone = Counter(scopes)
    taken = {value.name for value in (*graph.input, *graph.initializer)}
    names = _output_names(graph, outputs, taken)
    taken |= set(names.values())
    for node, scope in zip(graph.node, scopes, strict=True):
        node.name = free(scope if scope and alone[scope] == 1 else _inside(scope, node), taken)
        for position, result in enumerate(node.output):
            if result and result not in names:
                names[result] = node.name if position == 0 else free(f"{node.name}_{position}", taken)
    apply(graph, names)
    return proto


def _inside(scope: str, node: NodeProto) -> str:
    """A node among others of its scope."""
    return f"{scope}/{node.op_type}" if scope else node.name.removeprefix("node_") or node.op_type


def free(wanted: str, taken: set[str]) -> str:
    """The name itself, or with the first number appended that makes it unique."""
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


def apply(graph: GraphProto, names: Mapping[str, str]) -> None:
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for item in node.attribute:
            if item.HasField("g"):
                apply(item.g, names)
    for value in (*graph.output, *graph.value_info):
        value.name = names.get(value.name, value.name)
