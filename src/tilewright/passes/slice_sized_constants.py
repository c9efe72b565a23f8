"""Constants that are as long as a caller says become the first elements of the longest."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.ir.at_sizes import is_sized
from tilewright.ir.graph import Graph, rebuild
from tilewright.ir.types import type_of
from tilewright.ops.slice import Slice
from tilewright.passes import Complaint, Pass


def run(graph: Graph) -> Graph:
    sized = [name for name in graph.constants if is_sized(graph.types[name])]
    if not sized:
        return graph
    builder = rebuild(graph)
    shown: dict[str, str] = {}
    for name in sized:
        sizes = graph.types[name].shape
        builder.types[name] = type_of(graph.constants[name])
        (shown[name],) = builder.add(Slice((0,) * len(sizes), (1,) * len(sizes), sizes), [name], name=name)
    for node in graph.nodes:
        builder.add(node.op, [shown.get(name, name) for name in node.inputs], node.outputs, node.name)
    builder.copy_outputs(graph, lambda name: shown.get(name, name))
    return builder.build()


def none_is_sized(graph: Graph) -> Iterator[Complaint]:
    for name in graph.constants:
        if is_sized(graph.types[name]):
            yield f"constant '{name}'", "is as long as a caller says"


SLICE_SIZED_CONSTANTS = Pass("slice sized constants", run, ensures=none_is_sized)
