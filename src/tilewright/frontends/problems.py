"""Refusals of a whole model: those inside subgraphs too, and equal ones once, with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import onnx

from tilewright.errors import CompileError

SHOWN = 3
"""Nodes that a group of equal refusals names."""

MAX_DEPTH = 32
"""Of subgraphs in subgraphs: files are untrusted."""


def nested_problems(
    node: onnx.NodeProto, is_supported: Callable[[onnx.NodeProto], bool], depth: int = 0
) -> Iterator[CompileError]:
    """What is not supported in the subgraphs of a node that was refused itself."""
    if depth > MAX_DEPTH:
        return
    for inner in (inner for graph in _subgraphs(node) for inner in graph.node):
        if _subgraphs(inner):
            yield from nested_problems(inner, is_supported, depth + 1)
        elif inner.op_type != "Constant" and not is_supported(inner):
            name = inner.name or (inner.output[0] if inner.output else inner.op_type)
            what = f"operator {inner.op_type} is not supported"
            yield CompileError(f"node '{name}' ({inner.op_type})", what, "`tilewright ops` lists what is")


def _subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    graphs = [item.g for item in node.attribute if item.type == onnx.AttributeProto.GRAPH]
    return graphs + [graph for item in node.attribute for graph in item.graphs]


def grouped(errors: Sequence[CompileError]) -> list[CompileError]:
    """Equal refusals as one, in the order of the first of each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        places = groups.setdefault((error.what, error.hint), [])
        if error.where not in places:
            places.append(error.where)
    return [CompileError(_places(places), what, hint) for (what, hint), places in groups.items()]


def _places(places: Sequence[str]) -> str:
    if len(places) == 1:
        return places[0]
    shown = ", ".join(_short(place) for place in places[:SHOWN])
    nodes = "nodes" if all(place.startswith("node ") for place in places) else "places"
    return f"{len(places)} {nodes}: {shown}" + (", ..." if len(places) > SHOWN else "")


def _short(place: str) -> str:
    """The node's name without the words that the whole group has in common."""
    return place.removeprefix("node ")
