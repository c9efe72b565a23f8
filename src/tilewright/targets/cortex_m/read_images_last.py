"""Convolutions read images whose channels are the last axis as they are: no transposition before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.conv import Conv
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.targets.cortex_m.paired import PairedConv, paired_conv

TO_SECOND = (0, 3, 1, 2)


def run(graph: Graph) -> Graph:
    found = {node.key: image for node, image in _readers(graph)}

    def read(node: Node, builder: Builder) -> Mapping[str, str] | None:
        offer = paired_conv(graph, node, image_last=True) if node.key in found else None
        if offer is None or not isinstance(offer.op, PairedConv):
            return None
        constants = [builder.constant(array, name) for name, array in offer.constants.items()]
        builder.add(offer.op, [found[node.key], *constants], node.outputs, node.name)
        return {node.key: node.key}

    return rewrite(graph, read) if found else graph


def _readers(graph: Graph) -> Iterator[tuple[Node, str]]:
    """Convolutions that read a transposed image, and the image."""
    for node in graph.nodes:
        if not isinstance(node.op, Conv) or node.op.groups != 1:
            continue
        before = graph.producers.get(node.inputs[0])
        if before is not None and before.op == Transpose(TO_SECOND) and paired_conv(graph, node) is not None:
            yield node, before.inputs[0]


def no_transposed_images(graph: Graph) -> Iterator[Complaint]:
    for node, image in _readers(graph):
        yield f"node '{node.name}'", f"reads '{image}' through a transposition"


READ_IMAGES_LAST = Pass("read images last", run, ensures=no_transposed_images)
