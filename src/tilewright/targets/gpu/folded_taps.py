"""Convolutions whose windows lie side by side, as patches of a vision transformer: the taps of a row of a window become
channels, which lie next to each other in memory anyway. Rows of tiles are then copied 16 bytes at a time, however few
channels an image has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.conv import Conv
from tilewright.ops.reshape import Reshape
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

IMAGE = 4
"""Axes: one of rows and one of columns."""


def run(graph: Graph) -> Graph:
    tiled = {node.key for node in graph.nodes if _is_tiled(graph, node)}

    def change(node: Node, builder: Builder) -> dict[str, str] | None:
        return _folded(node, builder) if node.key in tiled else None

    return rewrite(graph, change)


def _is_tiled(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, Conv) or not op.channels_last or op.groups != 1:
        return False
    operands = node.operands()
    x, w = graph.types[operands["X"]].shape, graph.types[operands["W"]].shape
    if len(x) != IMAGE or operands["W"] not in graph.constants:
        return False
    taps = w[2]
    left, right = op.padding[1], op.padding[3]
    return taps > 1 and op.strides[1] == taps and op.dilations[1] == 1 and not (left or right or x[2] % taps)


def _folded(node: Node, builder: Builder) -> dict[str, str]:
    operands, op = node.operands(), instance(node.op, Conv)
    weights = builder.constants[operands["W"]]
    images, rows, columns, channels = builder.types[operands["X"]].shape
    filters, down, taps, _ = weights.shape
    (x,) = builder.add(Reshape((images, rows, columns // taps, taps * channels)), [operands["X"]])
    w = builder.constant(weights.reshape(filters, down, 1, taps * channels), operands["W"])
    given = {operands["X"]: x, operands["W"]: w}
    narrower = replace(op, strides=(op.strides[0], 1))
    (made,) = builder.add(narrower, [given.get(name, name) for name in node.inputs])
    return {node.outputs[0]: made}


def none_tiled(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_tiled(graph, node):
            yield node.where, "has taps side by side that could be channels"


FOLD_TAPS = Pass("taps side by side as channels", run, ensures=none_tiled)
