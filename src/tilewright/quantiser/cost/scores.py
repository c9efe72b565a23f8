"""What a network decides by its scores: where along the axis of classes each row of an output is largest."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops._elementwise import Elementwise
from tilewright.ops._filters import Filters
from tilewright.ops.gather import Gather
from tilewright.ops.identity import Identity
from tilewright.ops.logsoftmax import LogSoftmax
from tilewright.ops.pad import Pad
from tilewright.ops.resize import Resize
from tilewright.ops.slice import Slice
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose

LAST = -1
"""The axis of classes where nothing says otherwise."""

KEEPS_AXES = (Elementwise, Gather, Identity, Pad, Resize, Slice, Transpose)
"""Operators behind a layer of scores that leave them scores."""


def top(output: Array, axis: int = LAST) -> Array:
    """Where each row of an output is largest; what the network has decided itself is taken as it is."""
    is_decided = output.dtype.kind in "biu"
    return np.asarray(output if is_decided or not output.ndim else np.argmax(output, axis=axis))


def agreement(wanted: Array, got: Array, axis: int = LAST) -> float:
    """The share of rows that are largest in the same place; a picture of scores has a row for each pixel."""
    return float(np.mean(top(wanted, axis) == top(got, axis))) if wanted.size else 1.0


def class_axis(graph: Graph, output: str) -> int:
    """Of an output: the channels where a convolution gives it, the axis of a softmax, otherwise the last."""
    turns, name = list[Transpose](), output
    rank = len(graph.types[output].shape)
    while (node := graph.producers.get(name)) is not None and len(graph.types[name].shape) == rank:
        if isinstance(node.op, Softmax | LogSoftmax):
            return _turned(node.op.axis % rank, turns)
        if isinstance(node.op, Filters):
            return _turned(rank - 1 if getattr(node.op, "channels_last", False) else 1, turns)
        if not isinstance(node.op, KEEPS_AXES):
            break
        if isinstance(node.op, Transpose):
            turns.append(node.op)
        name = next((each for each in node.inputs if each and each not in graph.constants), "")
    return LAST


def _turned(axis: int, turns: list[Transpose]) -> int:
    """Where an axis is after all transposes, the last of which was found first."""
    for turn in reversed(turns):
        axis = turn.perm.index(axis)
    return axis
