"""Weights of convolutions that are stored in 16 bits become float32, where kernels for vectors pack those: each is read
for many pixels, so that converting it anew would take longer than reading it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.half_floats import HALF
from tilewright.ir.types import as_computed
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    def widen(node: Node, builder: Builder) -> Mapping[str, str] | None:
        name = _weights(graph, node)
        if not name:
            return None
        wide = builder.constant(as_computed(graph.constants[name]), f"{name}_wide")
        builder.add(node.op, [wide if tensor == name else tensor for tensor in node.inputs], node.outputs, node.name)
        return {node.key: node.key}

    return rewrite(graph, widen)


def _weights(graph: Graph, node: Node) -> str:
    """The constant of a node that is stored in 16 bits, and need not be."""
    if not isinstance(node.op, Conv | ConvTranspose):
        return ""
    name = node.inputs[1]
    return name if name in graph.constants and graph.types[name].dtype in HALF else ""


def no_short_weights(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if name := _weights(graph, node):
            yield f"constant '{name}'", "is stored in 16 bits, and kernels read 32"


WIDEN_WEIGHTS = Pass("widen weights", run, ensures=no_short_weights)
