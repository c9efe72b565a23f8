"""Images of few channels, as those of a camera, with more of them: what is copied into tiles has whole words, or is
four words at once.

Three channels of bytes or of 16 bits would be copied one by one, those of 32 bits as three words; a fourth, of zeros,
costs a launch and less than it saves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import TensorType
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.pad import Pad
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

CHANNELS = 4
"""That there are then, at least: what is copied at once is one element of each, or more."""
STORED = NARROW | {"float16", "bfloat16", "float32"}
WORD = 4
"""Bytes."""
FEW = 8
"""Of more channels of 32 bits, words are as good."""
FEWEST_MACS = 1 << 22
"""Of layers that are worth a launch more."""


def run(graph: Graph) -> Graph:
    worth = {node.key for node in graph.nodes if _is_worth(graph, node)}

    def change(node: Node, builder: Builder) -> dict[str, str] | None:
        return _padded(node, builder) if node.key in worth else None

    return rewrite(graph, change)


def _is_worth(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, Conv) or not op.channels_last or op.groups != 1 or op.w_zero:
        return False
    operands = node.operands()
    x, w = graph.types[operands["X"]], graph.types[operands["W"]]
    plain = x.dtype in STORED and w.dtype in STORED and operands["W"] in graph.constants
    return plain and _is_ragged(x) and graph.macs(node) >= FEWEST_MACS


def _is_ragged(x: TensorType) -> bool:
    channels = x.shape[-1]
    if not x.elements:
        return False
    if x.dtype == "float32":
        return channels < FEW and bool(channels % CHANNELS)
    return bool(channels * x.bytes // x.elements % WORD)


def _padded(node: Node, builder: Builder) -> dict[str, str]:
    operands, op = node.operands(), instance(node.op, Conv)
    x, weights = operands["X"], builder.constants[operands["W"]]
    shape = builder.types[x].shape
    rank, missing = len(shape), -shape[-1] % CHANNELS
    behind = (*(0,) * (2 * rank - 1), missing)
    (wider,) = builder.add(Pad(behind, op.x_zero), [x])
    zeros = np.zeros((*weights.shape[:-1], missing), weights.dtype)
    filters = builder.constant(np.concatenate([weights, zeros], axis=-1), operands["W"])
    given = {x: wider, operands["W"]: filters}
    (made,) = builder.add(op, [given.get(name, name) for name in node.inputs])
    return {node.outputs[0]: made}


def none_ragged(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_worth(graph, node):
            yield node.where, "has channels that fill no words"


PAD_CHANNELS = Pass("whole words of channels", run, ensures=none_ragged)
