"""Softmax, which ONNX Runtime's kernel of bytes gets wrong where its result is quantised more finely than 1 / 256."""

from __future__ import annotations

from tilewright.export.registry import rule
from tilewright.export.writer import NodeWriter, Step
from tilewright.ops.softmax import Softmax

FINEST = 1 / 256
"""The unit that the kernel is made for: a finer one overflows in it, and one element alone is 256 of it, which wrap."""


@rule(Softmax)
def softmax(to: NodeWriter, op: Softmax) -> None:
    """Followed by an absolute value, which changes nothing, if the kernel must not replace it."""
    steps = [Step("Softmax", (to.operand("X"),), {"axis": op.axis})]
    if _overflows(to, op):
        steps.append(Step("Abs"))
    to.chain(*steps)


def _overflows(to: NodeWriter, op: Softmax) -> bool:
    graph = to.to.graph
    quantisers = [node for node in graph.consumers.get(to.node.key, []) if node.op.kind == "QuantizeLinear"]
    scales = [graph.constants[node.inputs[1]].min() for node in quantisers if node.inputs[1] in graph.constants]
    return bool(scales) and (min(scales) < FINEST or to.shape("X")[op.axis] == 1)
