"""Give every output bytes of its own: one that is an input, a state, a constant or another output is copied."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.ir.graph import Graph, rebuild
from tilewright.ops.identity import Identity
from tilewright.passes import Complaint, Pass


def run(graph: Graph) -> Graph:
    owners, taken = _owners(graph), {*graph.sources, *graph.constants}
    builder = rebuild(graph)
    for node in graph.nodes:
        builder.add(node.op, node.inputs, node.outputs, node.name)
    for output, name in zip(graph.outputs, graph.output_names, strict=True):
        if owners[output] in taken:
            builder.output(builder.add(Identity(copy=True), [output], name=f"copy of {output}")[0], name)
        else:
            taken.add(owners[output])
            builder.output(output, name)
    for state in graph.states:
        builder.set_next_state(state.name, state.after)
    return builder.build()


def _owners(graph: Graph) -> dict[str, str]:
    """Tensor -> the one whose bytes it has."""
    owners = {name: name for name in graph.types}
    for node in graph.nodes:
        if node.op.view:
            owners[node.outputs[0]] = owners[node.inputs[0]]
    return owners


def own_bytes(graph: Graph) -> Iterator[Complaint]:
    owners, taken = _owners(graph), {*graph.sources, *graph.constants}
    for output, name in zip(graph.outputs, graph.output_names, strict=True):
        if owners[output] in taken:
            yield f"output '{name}'", f"has the bytes of '{owners[output]}', which is somebody else's"
        taken.add(owners[output])


SEPARATE_OUTPUTS = Pass("separate outputs", run, ensures=own_bytes)
