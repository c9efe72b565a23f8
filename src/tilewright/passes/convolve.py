"""A transposed convolution becomes a convolution whose results are put side by side.

With a stride of s, every s-th element of the result is a sum over the same taps: element q = s * m + phase takes in
X[m - j] * W[phase + s * j] for all j. So all phases are filters of one convolution over m, for which targets have fast
kernels, and what it gives for the phases of one m are neighbours in the result. Sums are the same, to the bit in
integers; only the order of floats differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass


@dataclass(frozen=True)
class _Axis:
    """One spatial axis: the padding of the convolution, what it gives, and which part of that is wanted."""

    taps: int
    padding: tuple[int, int]
    count: int
    start: int


def _axis(ins: int, kernel: int, stride: int, before: int, outs: int) -> _Axis:
    taps = -(-kernel // stride)
    first, last = before // stride, (before + outs - 1) // stride
    padding = max(taps - 1 - first, 0), max(last - (ins - 1), 0)
    return _Axis(taps, padding, ins + sum(padding) - taps + 1, before - stride * (taps - 1 - padding[0]))


def run(graph: Graph, requantised_only: bool) -> Graph:
    return rewrite(graph, partial(_emitted, graph, requantised_only))


def _left(requantised_only: bool, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _axes(graph, requantised_only, node):
            yield node.where, "could be a convolution"


def _axes(graph: Graph, requantised_only: bool, node: Node) -> list[_Axis]:
    """The spatial axes of a transposed convolution that becomes a convolution; none of any other node."""
    op = node.op
    if not isinstance(op, ConvTranspose) or (requantised_only and op.requant is None) or not _is_plain(graph, node, op):
        return []
    ins, w = graph.types[node.inputs[0]].shape[2:], graph.constants[node.inputs[1]]
    axes = [_axis(*sizes) for sizes in zip(ins, w.shape[2:], op.strides, op.before, op.spatial, strict=True)]
    return axes if all(axis.count > 0 for axis in axes) else []


def _emitted(graph: Graph, requantised_only: bool, node: Node, builder: Builder) -> Mapping[str, str] | None:
    axes = _axes(graph, requantised_only, node)
    if not axes:
        return None
    op, w = instance(node.op, ConvTranspose), graph.constants[node.inputs[1]]
    ones, padding = (1,) * op.rank, np.transpose([axis.padding for axis in axes])
    conv = Conv(
        groups=1, x_zero=op.x_zero, w_zero=op.w_zero, requant=op.requant, activation=op.activation,
        strides=ones, dilations=ones, padding=tuple(padding.reshape(-1).tolist()),
    )  # fmt: skip
    weights = builder.constant(_phases(w, op.strides, tuple(axis.taps for axis in axes), op.w_zero), node.inputs[1])
    others = [_for_all(graph, builder, name, math.prod(op.strides)) for name in node.inputs[2:]]
    inputs, moves = (node.inputs[0], weights, *others), _side_by_side(graph.types[node.key].shape[:2], op, axes)
    for step in [conv, *moves][: len(moves)]:
        inputs = builder.add(step, inputs, name=node.name)
    builder.add([conv, *moves][-1], inputs, node.outputs, node.name)
    return {node.key: node.key}


def _is_plain(graph: Graph, node: Node, op: ConvTranspose) -> bool:
    """Filters of several groups would no longer be depthwise; with dilation, phases would have gaps."""
    known = all(name in graph.constants for name in node.inputs[1:] if name)
    elements = min(graph.types[node.key].elements, graph.types[node.inputs[0]].elements)
    return known and op.groups == 1 and max(op.dilations) == 1 and min(op.before) >= 0 and elements > 0


def _phases(w: Array, strides: Shape, taps: Shape, zero: int) -> Array:
    """From W[c, f, ...] to filters of all phases, taps backwards: [phases * f, c, ...]."""
    rank = len(strides)
    room = [s * n - size for s, n, size in zip(strides, taps, w.shape[2:], strict=True)]
    whole = np.pad(w, [(0, 0), (0, 0), *((0, more) for more in room)], constant_values=zero)
    split = whole.reshape(*w.shape[:2], *(size for pair in zip(taps, strides, strict=True) for size in pair))
    flipped = np.flip(split, axis=tuple(2 + 2 * axis for axis in range(rank)))
    order = (*(3 + 2 * axis for axis in range(rank)), 1, 0, *(2 + 2 * axis for axis in range(rank)))
    return np.ascontiguousarray(flipped.transpose(order).reshape(-1, w.shape[0], *taps))


def _for_all(graph: Graph, builder: Builder, name: str, phases: int) -> str:
    """Values for each filter, repeated for each phase; one value is for all."""
    if not name or graph.constants[name].size == 1 or phases == 1:
        return name
    return builder.constant(np.tile(graph.constants[name], phases), name)


def _side_by_side(outer: Shape, op: ConvTranspose, axes: Sequence[_Axis]) -> list[Op]:
    """From [n, phases * f, m, ...] to the result [n, f, ...]."""
    counts = [axis.count for axis in axes]
    sizes = tuple(count * stride for count, stride in zip(counts, op.strides, strict=True))
    starts = (0, 0, *(axis.start for axis in axes))
    order = (0, 1 + op.rank, *(at for axis in range(op.rank) for at in (2 + op.rank + axis, 1 + axis)))
    spread = [
        Reshape((outer[0], *op.strides, outer[1], *counts)), Transpose(order), Reshape((*outer, *sizes)),
    ]  # fmt: skip
    part = [Slice(starts, (1,) * len(starts), (*outer, *op.spatial))]
    return [*(spread if max(op.strides) > 1 else ()), *(part if any(starts) or sizes != op.spatial else ())]


CONVOLVE_REQUANTISED = Pass(
    "requantised transposed convolutions as convolutions", partial(run, requantised_only=True),
    ensures=partial(_left, True),
)  # fmt: skip
"""Before the requantisation is fitted to the hardware, which knows convolutions."""

CONVOLVE = Pass(
    "transposed convolutions as convolutions", partial(run, requantised_only=False), ensures=partial(_left, False)
)
"""The rest, once what follows them has become part of them."""
