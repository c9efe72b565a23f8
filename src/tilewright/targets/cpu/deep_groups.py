"""Convolutions whose groups have a few channels and one filter, such as depthwise ones of videos, become depthwise: the
channels of a group lie beside each other in a wider row, and windows step over all of them at once. All groups of a
pixel are side by side, as the kernel for many groups wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.conv import Conv
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

FEWEST_GROUPS = 16
"""Below which vectors of groups are mostly empty."""


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_widen, graph))


def _widen(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _is_deep(graph, node):
        return None
    op, weights = instance(node.op, Conv), graph.constants[node.inputs[1]]
    batch, _, height, width = graph.types[node.inputs[0]].shape
    groups, deep, kernel_h, kernel_w = weights.shape
    (apart,) = builder.add(Reshape((batch, groups, deep, height, width)), [node.inputs[0]])
    (turned,) = builder.add(Transpose((0, 3, 4, 2, 1)), [apart])
    (wide,) = builder.add(Reshape((batch, height, width * deep, groups)), [turned])
    taps = weights.transpose(0, 2, 3, 1).reshape(groups, kernel_h, kernel_w * deep, 1)
    top, left, bottom, right = op.padding
    made = replace(
        op, strides=(op.strides[0], op.strides[1] * deep), padding=(top, left * deep, bottom, right * deep),
        channels_last=True,
    )  # fmt: skip
    (last,) = builder.add(made, [wide, builder.constant(taps, node.inputs[1]), *node.inputs[2:]], name=node.name)
    builder.add(Transpose((0, 3, 1, 2)), [last], node.outputs)
    return {name: name for name in node.outputs}


def _is_deep(graph: Graph, node: Node) -> bool:
    op = node.op
    weights = graph.constants.get(node.inputs[1]) if isinstance(op, Conv) else None
    if not isinstance(op, Conv) or weights is None or weights.ndim != 4 or op.channels_last:
        return False
    is_float = graph.types[node.inputs[0]].dtype == "float32" == weights.dtype
    one_filter = op.groups == len(weights) >= FEWEST_GROUPS and weights.shape[1] > 1
    return bool(is_float and one_filter and op.dilations[1] == 1 and min(op.padding) >= 0)


def all_widened(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_deep(graph, node):
            yield node.where, "has one filter for a few channels of each group"


WIDEN_GROUPS = Pass("groups of one filter become depthwise", run, ensures=all_widened)
