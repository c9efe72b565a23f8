"""Images of few channels, as those of a camera, with more of them: what is copied into tiles has whole words.

Three channels of bytes or of 16 bits would be copied one by one; a fourth, of zeros, costs a launch and less than it
saves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.pad import Pad
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

WORD = 4
"""Bytes that are copied at once, at least; and channels that there are then, at least."""
STORED = NARROW | {"float16", "bfloat16"}
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
    ragged = bool(x.elements) and x.shape[-1] * x.bytes // x.elements % WORD
    plain = x.dtype in STORED and w.dtype in STORED and operands["W"] in graph.constants
    return bool(ragged) and plain and graph.macs(node) >= FEWEST_MACS


def _padded(node: Node, builder: Builder) -> dict[str, str]:
    operands, op = node.operands(), instance(node.op, Conv)
    x, weights = operands["X"], builder.constants[operands["W"]]
    shape = builder.types[x].shape
    rank, missing = len(shape), -shape[-1] % WORD
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
