"""Give every output bytes of its own: one that is an input, a constant or another output is copied."""

from __future__ import annotations

from tilewright.ir.graph import Graph, rebuild
from tilewright.ops.identity import Identity
from tilewright.passes import Pass


def run(graph: Graph) -> Graph:
    owners = {name: name for name in graph.types}
    for node in graph.nodes:
        if node.op.view:
            owners[node.outputs[0]] = owners[node.inputs[0]]
    taken = {*graph.inputs, *graph.constants}
    builder = rebuild(graph)
    for node in graph.nodes:
        builder.add(node.op, node.inputs, node.outputs, node.name)
    for output, name in zip(graph.outputs, graph.output_names, strict=True):
        if owners[output] in taken:
            builder.output(builder.add(Identity(copy=True), [output], name=f"copy of {output}")[0], name)
        else:
            taken.add(owners[output])
            builder.output(output, name)
    return builder.build()


SEPARATE_OUTPUTS = Pass("separate outputs", run)
