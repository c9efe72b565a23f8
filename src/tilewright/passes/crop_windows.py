"""Taps of a convolution that lie in the padding wherever the window stands are left out.

A 3 x 3 window dilated beyond its image has one tap that sees it, a 5 x 5 window on 2 x 2 pixels nine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops._spatial import pad_spans
from tilewright.ops.conv import Conv
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

Cut = tuple[int, int]
"""Taps to leave out before and behind those that stay."""


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_crop, graph))


def _crop(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    cuts = _cuts(graph, node)
    if not any(map(any, cuts)):
        return None
    op, weights = instance(node.op, Conv), graph.constants[node.inputs[1]]
    first = 1 if op.channels_last else 2
    kept = [slice(None)] * weights.ndim
    for axis, (before, behind) in enumerate(cuts, first):
        kept[axis] = slice(before, weights.shape[axis] - behind)
    spans = zip(pad_spans(op.padding), cuts, op.dilations, strict=True)
    pads = [(pad[0] - cut[0] * dilation, pad[1] - cut[1] * dilation) for pad, cut, dilation in spans]
    smaller = replace(op, padding=(*(before for before, _ in pads), *(behind for _, behind in pads)))
    cropped = builder.constant(np.ascontiguousarray(weights[tuple(kept)]), f"{node.inputs[1]}_cropped")
    builder.add(smaller, [node.inputs[0], cropped, *node.inputs[2:]], node.outputs, node.name)
    return {node.key: node.key}


def _cuts(graph: Graph, node: Node) -> list[Cut]:
    """For each spatial axis; none where the weights are computed, or such that zero times one of them is no zero, or
    where it matters which of them lie side by side (a convolution of another type)."""
    if type(node.op) is not Conv or node.inputs[1] not in graph.constants:
        return []
    op, weights = node.op, graph.constants[node.inputs[1]]
    spatial = [op.spatial(graph.types[name].shape) for name in (node.inputs[0], node.inputs[1], node.key)]
    walk = zip(*spatial, pad_spans(op.padding), op.strides, op.dilations, strict=True)
    found = [_cut(size, taps, outs, *rest) for size, taps, outs, *rest in walk]
    return found if any(map(any, found)) and np.isfinite(weights).all() else []


def _cut(size: int, taps: int, outs: int, pads: tuple[int, int], stride: int, dilation: int) -> Cut:
    """As far as the padding reaches: what it does not cover cannot be taken from it."""
    at = range(-pads[0], -pads[0] + taps * dilation, dilation)
    unseen = [not _meets(start, stride, outs, size) for start in at]
    if all(unseen):
        return 0, 0
    before, behind = unseen.index(False), unseen[::-1].index(False)
    return min(before, pads[0] // dilation), min(behind, pads[1] // dilation)


def _meets(start: int, stride: int, outs: int, size: int) -> bool:
    """Whether one of the window's steps brings a tap into the image."""
    steps = max(0, -(start // stride))
    return steps < outs and start + steps * stride < size


def no_blind_taps(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if any(map(any, _cuts(graph, node))):
            yield node.where, f"has taps that see nothing but padding: {graph.types[node.inputs[1]].shape}"


CROP_WINDOWS = Pass("crop windows", run, ensures=no_blind_taps)
