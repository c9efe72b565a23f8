"""Differences of whole floats that fit bytes, stored in 16 bits, are differences of bytes: kernels multiply those.

TensorFlow Lite's layers with 8-bit weights and float activations have them: images without their zero point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.ceil import Ceil
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.floor import Floor
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.round import Round
from tilewright.ops.sign import Sign
from tilewright.ops.sub import Sub
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

LOW, HIGH = -128.0, 127.0


def run(graph: Graph) -> Graph:
    def subtract_bytes(node: Node, builder: Builder) -> Mapping[str, str] | None:
        difference = _difference(graph, node)
        if difference is None:
            return None
        parts = [builder.add(Cast("int8"), [name])[0] for name in difference.inputs]
        return {node.key: builder.add(Sub(wide=True), parts)[0]}

    return rewrite(graph, subtract_bytes)


def none_wide(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _difference(graph, node) is not None:
            yield node.where, "is a difference of bytes"


def _difference(graph: Graph, node: Node) -> Node | None:
    """What a node stores in 16 bits, for products only."""
    if node.op != Cast("int16") or node.key in graph.sinks:
        return None
    readers = graph.consumers.get(node.key, [])
    if not all(isinstance(reader.op, Conv | MatMul) and node.key not in reader.inputs[1:] for reader in readers):
        return None
    source = graph.producers.get(node.inputs[0])
    if source is None or source.op != Sub() or graph.types[source.key].dtype != "float32":
        return None
    return source if all(_is_byte(graph, name) for name in source.inputs) else None


def _is_byte(graph: Graph, tensor: str) -> bool:
    source = graph.producers.get(tensor)
    if source is None or not isinstance(source.op, Clip) or not _is_whole(graph, tensor):
        return False
    low, high = source.op.bounds("float32")
    return low >= LOW and high <= HIGH


def _is_whole(graph: Graph, tensor: str) -> bool:
    """Whether all elements are whole numbers."""
    value, source = graph.constants.get(tensor), graph.producers.get(tensor)
    if value is not None:
        return bool(np.all(value == np.floor(value)))
    if source is None:
        return False
    if isinstance(source.op, Clip) and not all(bound == np.floor(bound) for bound in source.op.bounds("float32")):
        return False
    if isinstance(source.op, Clip | Add | Sub | Mul):
        return all(_is_whole(graph, name) for name in source.inputs)
    return isinstance(source.op, Floor | Ceil | Round | Sign)


BYTE_DIFFERENCES = Pass("differences of bytes", run, ensures=none_wide)
