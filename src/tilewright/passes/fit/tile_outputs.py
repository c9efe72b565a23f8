"""Small outputs that nodes of the graph read too are made in bytes of the network's own, and copied to the caller's.

The copy can be a transfer in the background, and who reads them finds them in L1.
"""

from __future__ import annotations

from functools import partial

from tilewright.ir.graph import Graph, rebuild
from tilewright.ops.identity import Identity
from tilewright.passes import Pass
from tilewright.passes.separate_outputs import own_bytes


def copied_outputs(most: int) -> Pass:
    """Of outputs with at most so many bytes."""
    return Pass("copy outputs", partial(tile_outputs, most=most), requires=own_bytes, ensures=own_bytes)


def tile_outputs(graph: Graph, most: int) -> Graph:
    """Of outputs with at most so many bytes."""
    builder = rebuild(graph)
    own = {name: builder.fresh(f"{name}_own") for name in graph.outputs if _is_read(graph, name, most)}
    if not own:
        return graph
    builder.reserve(own.values())
    for node in graph.nodes:
        inputs = [own.get(name, name) for name in node.inputs]
        builder.add(node.op, inputs, [own.get(name, name) for name in node.outputs], node.name)
        for name in node.outputs:
            if name in own:
                builder.add(Identity(copy=True), [own[name]], [name], node.name)
    builder.copy_outputs(graph)
    return builder.build()


def _is_read(graph: Graph, name: str, most: int) -> bool:
    """Whether a node makes an output in bytes of its own, and others read it."""
    maker = graph.producers.get(name)
    if maker is None or maker.op.view or isinstance(maker.op, Identity) or not 0 < graph.types[name].bytes <= most:
        return False
    return any(name in node.inputs for node in graph.nodes)
